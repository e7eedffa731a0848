// Shows the progress of a refresh, a site robot run and a fetch of lists without reloading. The page works without this script.
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
    // The heading element stays in place so that screen readers announce its change.
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

  const robot = () => document.getElementById("site-robot");

  // Sets an element's text only if it differs, so that screen readers do not repeat unchanged text.
  function put(element, value) {
    const text = String(value);
    if (element && element.textContent !== text) element.textContent = text;
  }

  function hostRow(host) {
    const row = document.createElement("tr");
    const name = document.createElement("th");
    name.scope = "row";
    name.textContent = host.host;
    row.append(name);
    for (const [label, value] of [["Fetched", host.fetched], ["Failed", host.failed], ["Bytes", host.bytes]]) {
      const cell = document.createElement("td");
      cell.className = "number";
      cell.dataset.label = label;
      cell.textContent = value;
      row.append(cell);
    }
    return row;
  }

  function showRun(status) {
    const here = robot();
    for (const tile of here.querySelectorAll("[data-count]")) {
      if (status.run) put(tile, status.run[tile.dataset.count]);
    }
    for (const fact of here.querySelectorAll("[data-live]")) {
      put(fact, status.live[fact.dataset.live]);
    }
    const hosts = here.querySelector("[data-hosts]");
    if (hosts) hosts.replaceChildren(...status.live.hosts.map(hostRow));
  }

  // Buttons, tables and history change with the state, so the whole element with this id is replaced.
  async function showState(part, id) {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById(id);
    if (!answer.ok || !page.getElementById(part().id)) return location.reload();
    const heading = part().querySelector("[data-text]");
    const focused = document.activeElement && document.activeElement.id;
    const freshHeading = fresh.querySelector("[data-text]");
    put(heading, freshHeading.textContent);
    freshHeading.replaceWith(heading);
    document.getElementById(id).replaceChildren(...fresh.childNodes);
    const again = focused && document.getElementById(focused);
    if (again) again.focus();
  }

  async function pollRobot() {
    try {
      const answer = await fetch(robot().dataset.poll, { headers: { accept: "application/json" } });
      if (!answer.ok) return location.reload();
      const status = await answer.json();
      const isLive = robot().querySelector("[data-live]") !== null;
      const hasRun = robot().querySelector("[data-count]") !== null;
      if (status.state !== robot().dataset.state || (status.live !== null) !== isLive || (status.run !== null) !== hasRun) {
        await showState(robot, "content");
      } else {
        showRun(status);
      }
      if (!status.running) return;
    } catch {
      // The server may be restarting; retry.
    }
    setTimeout(pollRobot, 1000);
  }

  const lists = () => document.getElementById("list-fetch");

  async function pollLists() {
    try {
      const answer = await fetch(lists().dataset.poll, { headers: { accept: "application/json" } });
      if (!answer.ok) return location.reload();
      const job = await answer.json();
      if (!job || !job.running) return await showState(lists, "lists-panel");
      // Each fetched list also appears in the table.
      if (String(job.done) !== lists().dataset.done) await showState(lists, "lists-panel");
    } catch {
      // The server may be restarting; retry.
    }
    setTimeout(pollLists, 1000);
  }

  if (lists() && lists().dataset.running === "true") setTimeout(pollLists, 300);
  if (robot() && robot().dataset.running === "true") setTimeout(pollRobot, 300);
  if (part() && part().dataset.running === "true") setTimeout(poll, 300);
})();
