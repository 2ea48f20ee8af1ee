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

// <div data-events="address">: follows a query; parts of the page that wait for "news" are fetched again by htmx.
for (const follower of document.querySelectorAll("[data-events]:not([data-over])")) {
  const source = new EventSource(follower.dataset.events);
  let waiting = 0;
  source.onmessage = (event) => {
    if (JSON.parse(event.data).kind === "answered") source.close();
    clearTimeout(waiting); // the first ones come all at once
    waiting = setTimeout(() => htmx.trigger(document.body, "news"), 150);
  };
  addEventListener("pagehide", () => source.close());
}
