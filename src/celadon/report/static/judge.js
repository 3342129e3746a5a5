// Keys: a number answers the question that has the focus, or the first without an answer; Enter goes on.
"use strict";
(() => {
  const form = document.getElementById("answers");
  if (!form) return;
  const groups = [...form.querySelectorAll("fieldset[data-keys]")];
  const first = form.querySelector("[data-first]");
  if (first) first.focus();
  const problem = form.querySelector(".problem");
  if (problem) {
    const box = problem.closest("fieldset, .number, .repair");
    const field = box.querySelector("input, textarea");
    field.focus();
    box.scrollIntoView({ block: "center" });
  }

  const answered = (group) => group.querySelector("input:checked") !== null;

  function choose(key) {
    const here = document.activeElement && document.activeElement.closest("fieldset[data-keys]");
    // a group that was answered by its key is left behind; one that a person went back to is answered anew
    const group = here || groups.find((one) => !answered(one));
    const input = group && [...group.querySelectorAll("input")].find((one) => one.value === key);
    if (!input) return false;
    input.checked = true;
    const next = groups.slice(groups.indexOf(group) + 1).find((one) => !answered(one));
    const target = next ? next.querySelector("input") : input;
    target.focus({ preventScroll: true });
    if (next) next.scrollIntoView({ block: "nearest" });
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
      return;
    }
    const at = event.target;
    const writing = at.matches("textarea, input:not([type=radio]):not([type=checkbox])");
    if (!writing && /^[0-9]$/.test(event.key) && choose(event.key)) {
      event.preventDefault();
    } else if (event.key === "Enter" && !at.matches("textarea, button, a, summary")) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
})();
