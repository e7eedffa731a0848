// Suggests names as a filter is typed. Without it the field takes any name.
(() => {
  "use strict";
  for (const input of document.querySelectorAll("input[data-names]")) {
    let asked = null;
    const suggest = async () => {
      const begun = input.value;
      if (begun === asked) return;
      asked = begun;
      try {
        const answer = await fetch(`${input.dataset.names}&q=${encodeURIComponent(begun)}`);
        // What was typed meanwhile has a question of its own.
        if (!answer.ok || begun !== asked) return;
        const { names } = await answer.json();
        input.list.replaceChildren(...names.map((name) => Object.assign(document.createElement("option"), { value: name })));
      } catch {
        // The server may be restarting; the next letter asks again.
      }
    };
    input.addEventListener("focus", suggest);
    input.addEventListener("input", suggest);
  }
})();
