// Shows how a refresh goes without reloading the page. The page works without it.
(() => {
  "use strict";
  const part = () => document.getElementById("refresh");

  function show(job) {
    const here = part();
    const text = here.querySelector("[data-text]");
    if (text.textContent !== job.text) text.textContent = job.text;
    const bar = here.querySelector("[data-progress]");
    if (bar) {
      if (job.total_bytes && job.bytes !== null) {
        bar.max = job.total_bytes;
        bar.value = job.bytes;
      } else {
        bar.removeAttribute("value");
      }
    }
    for (const step of job.sources) {
      const item = here.querySelector(`[data-source="${CSS.escape(step.source)}"] [data-step]`);
      if (item) item.textContent = step.text;
    }
  }

  async function showOutcome() {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const outcome = page.getElementById("refresh");
    if (!answer.ok || !outcome) return location.reload();
    // The heading stays the same element, so that its change is read aloud.
    const heading = part().querySelector("[data-text]");
    const fresh = outcome.querySelector("[data-text]");
    heading.textContent = fresh.textContent;
    fresh.replaceWith(heading);
    part().replaceWith(document.adoptNode(outcome));
  }

  async function poll() {
    try {
      const answer = await fetch(part().dataset.poll, { headers: { accept: "application/json" } });
      if (!answer.ok) return location.reload();
      const job = await answer.json();
      if (!job.running) return await showOutcome();
      show(job);
    } catch {
      // The server may be restarting; ask again.
    }
    setTimeout(poll, 1000);
  }

  if (part() && part().dataset.running === "true") setTimeout(poll, 300);
})();
