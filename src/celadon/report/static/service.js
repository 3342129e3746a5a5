// Scores appear as one types: after a pause the form is sent, and an earlier request that still runs is given up.
"use strict";
(() => {
  const PAUSE = 300;
  const form = document.getElementById("texts");
  const results = document.getElementById("results");
  const state = document.getElementById("state");
  const key = document.getElementById("key");
  let timer = 0;
  let running = null;

  function later(milliseconds) {
    clearTimeout(timer);
    timer = setTimeout(send, milliseconds);
  }

  function request() {
    const fields = new URLSearchParams(new FormData(form));
    const headers = { "x-fragment": "1" };
    // the key goes where keys belong, and is kept nowhere but in its field
    fields.delete("key");
    if (key && key.value) headers.authorization = `Bearer ${key.value}`;
    return { method: "POST", body: fields, headers };
  }

  async function send() {
    clearTimeout(timer);
    if (running) running.abort();
    const mine = (running = new AbortController());
    results.setAttribute("aria-busy", "true");
    state.textContent = "Scoring…";
    try {
      const response = await fetch("/", { ...request(), signal: mine.signal });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      if (mine.signal.aborted) return;
      // while the service is busy, what is shown stays, and it is tried again
      if (response.status === 429 || response.status === 503) {
        state.textContent = "Busy, waiting…";
        later(1000 * (Number(response.headers.get("retry-after")) || 2));
        return;
      }
      const open = results.querySelector(".making")?.open;
      results.replaceChildren(...page.body.childNodes);
      if (open) results.querySelector(".making")?.setAttribute("open", "");
      state.textContent = response.ok ? said() : "";
    } catch (error) {
      if (error.name === "AbortError") return;
      state.textContent = "The service cannot be reached.";
    } finally {
      if (running === mine) {
        running = null;
        results.removeAttribute("aria-busy");
      }
    }
  }

  function said() {
    const row = results.querySelector("tr.whole");
    if (!row) return "";
    const name = row.querySelector("th").firstChild.textContent.trim();
    return `${name}: ${[...row.querySelectorAll(".value span")].map((value) => value.textContent).join(" and ")}`;
  }

  form.addEventListener("input", () => later(PAUSE));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  // a second text that is put away is no longer compared
  const second = form.querySelector("details.second");
  second.addEventListener("toggle", () => {
    const other = document.getElementById("other");
    other.disabled = !second.open;
    if (other.value.trim()) later(0);
    else if (second.open) other.focus();
  });
  if (form.text.value.trim() && !results.children.length) later(0);
})();
