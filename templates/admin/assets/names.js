// Suggests names while a filter is typed. Without this script the field accepts any name.
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
        // Text typed in the meantime has its own request.
        if (!answer.ok || begun !== asked) return;
        const { names } = await answer.json();
        input.list.replaceChildren(...names.map((name) => Object.assign(document.createElement("option"), { value: name })));
      } catch {
        // The server may be restarting; the next keystroke retries.
      }
    };
    input.addEventListener("focus", suggest);
    input.addEventListener("input", suggest);
  }
})();
