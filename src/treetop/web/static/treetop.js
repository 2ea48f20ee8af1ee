// Everything a page does by itself, beside htmx. Pages say what they want in attributes; no page has a script of its own.
"use strict";

// <button data-copy="#id">: copies the text of another element.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.querySelector(button.dataset.copy).textContent;
  navigator.clipboard.writeText(text).then(() => {
    const said = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = said; }, 1500);
  });
});
