// What answers and forms do by themselves. Pages say what they want in attributes.
"use strict";

// <button data-print>: prints the page.
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-print]")) window.print();
});

// <input type="file" data-into="#id">: puts the text of a file, one item per line, into a text area.
document.addEventListener("change", async (event) => {
  const chosen = event.target.closest("input[type=file][data-into]");
  if (!chosen || !chosen.files.length) return;
  const area = document.querySelector(chosen.dataset.into);
  area.value = await chosen.files[0].text();
  chosen.value = "";
  area.dispatchEvent(new Event("input", { bubbles: true }));
});
