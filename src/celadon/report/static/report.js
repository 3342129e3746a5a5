"use strict";
(() => {
  // Where nothing here runs, everything is still on the page: headers are plain and the filters are hidden.
  const units = (table) => (table.tBodies.length > 1 ? [...table.tBodies] : [...(table.tBodies[0]?.rows ?? [])]);
  const lead = (unit) => unit.rows?.[0] ?? unit;
  const words = new Intl.Collator(undefined, { numeric: true });

  function sorter(table, head) {
    const order = new Map(units(table).map((unit, place) => [unit, place]));
    const number = head.dataset.sort === "number";
    const key = (unit) => {
      const cell = lead(unit).cells[head.cellIndex];
      const text = (cell.dataset.value ?? cell.textContent).trim();
      return number ? Number.parseFloat(text.replaceAll(",", "")) : text;
    };
    return () => {
      const first = head.dataset.first ?? (number ? "descending" : "ascending");
      const other = first === "ascending" ? "descending" : "ascending";
      const direction = head.getAttribute("aria-sort") === first ? other : first;
      const sign = direction === "ascending" ? 1 : -1;
      const keyed = units(table).map((unit) => [unit, key(unit)]);
      keyed.sort(([a, x], [b, y]) => {
        // Nulls come last whichever way the others are sorted.
        if (number && (Number.isNaN(x) || Number.isNaN(y))) {
          return Number.isNaN(x) - Number.isNaN(y) || order.get(a) - order.get(b);
        }
        return sign * (number ? x - y : words.compare(x, y)) || order.get(a) - order.get(b);
      });
      const parent = keyed[0]?.[0].parentNode;
      const after = parent === table ? table.tFoot : null;
      const moved = document.createDocumentFragment();
      keyed.forEach(([unit]) => moved.append(unit));
      parent?.insertBefore(moved, after);
      for (const cell of head.parentNode.cells) cell.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction);
    };
  }

  for (const table of document.querySelectorAll("table[data-sortable]")) {
    for (const head of table.querySelectorAll("thead th[data-sort]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", sorter(table, head));
    }
  }

  const form = document.querySelector(".filters");
  const table = document.querySelector(".texts");
  if (form && table) {
    const rows = [...table.tBodies].map((body) => ({
      body,
      system: body.rows[0].cells[1]?.textContent ?? "",
      text: body.textContent.toLocaleLowerCase(),
    }));
    const filter = () => {
      const system = form.elements.system?.value ?? "";
      const sought = form.elements.search.value.trim().toLocaleLowerCase();
      let shown = 0;
      for (const row of rows) {
        const fits = (!system || row.system === system) && (!sought || row.text.includes(sought));
        row.body.hidden = !fits;
        shown += fits;
      }
      form.querySelector("output").value = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
    };
    const show = () => {
      // A link from the best and worst leads to a row that a filter may hide.
      const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
      if (target && target.hidden) {
        form.reset();
        filter();
        target.scrollIntoView();
      }
    };
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    addEventListener("hashchange", show);
    filter();
    show();
  }

  const names = { INS: "insertion", DEL: "deletion", MARK: "substitution" };
  document.addEventListener("mouseover", ({ target }) => {
    const name = names[target.tagName];
    if (name && !target.title) target.title = target.classList.contains("m") ? "move" : name;
  });

  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
