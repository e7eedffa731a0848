// Adds new decisions to the Live page until paused. The page works without this script.
(() => {
  "use strict";
  const MAX_ROWS = 200;
  const here = document.getElementById("live");
  if (!here || !window.EventSource) return;
  const button = document.getElementById("pause");
  const state = document.getElementById("live-state");
  const body = here.querySelector("tbody");
  const clock = new Intl.DateTimeFormat("en-GB", { timeZone: here.dataset.zone, hour: "2-digit", minute: "2-digit", second: "2-digit" });
  let after = Number(here.dataset.after);
  let skipped = 0;
  let source = null;

  function element(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function cell(label, first, below) {
    const made = document.createElement("td");
    made.dataset.label = label;
    const both = document.createElement("span");
    both.append(first, " ");
    if (below) both.append(below);
    made.append(both);
    return made;
  }

  function below(...parts) {
    const made = element("span", "", "below");
    made.append(...parts);
    return made;
  }

  function tableRow(row) {
    const made = document.createElement("tr");
    const time = element("time", clock.format(new Date(row.at)));
    time.dateTime = row.at;
    time.title = row.at;
    const head = document.createElement("th");
    head.scope = "row";
    head.append(time);
    const address = document.createElement("td");
    address.dataset.label = "Address";
    address.className = "address";
    if (row.address) address.append(element("code", row.address, "value"));
    const link = element("a", "Explain");
    link.href = here.dataset.root + row.explain;
    const action = element("td", "", "action");
    action.append(link);
    made.append(
      head,
      cell("Visitor", element("bdi", row.robot || row.kind, "breakable"), below(element("bdi", row.user_agent))),
      cell("Request", element("bdi", `${row.method} ${row.path}`, "breakable"), below(element("bdi", row.host), ` (${row.site})`)),
      cell("Verdict", row.verdict, row.suspect.length ? below("suspect: ", element("bdi", row.suspect.join(", "))) : undefined),
      cell("Decision", `${row.decision} ${row.status ?? ""}`, below(element("bdi", row.cause))),
      address,
      action,
    );
    return made;
  }

  function put(selector, text) {
    const found = here.querySelector(selector);
    if (found.textContent !== text) found.textContent = text;
    found.hidden = false;
  }

  function show(event) {
    const told = JSON.parse(event.data);
    after = Number(event.lastEventId);
    for (const row of told.rows) body.prepend(tableRow(row));
    while (body.rows.length > MAX_ROWS) body.lastElementChild.remove();
    if (told.rows.length) here.querySelector("[data-empty]").hidden = true;
    put("[data-people]", String(told.people));
    if (told.lost) put("[data-lost]", ` ${told.lost} requests are missing because too many arrived at once.`);
    skipped += told.skipped;
    if (skipped) put("[data-skipped]", `${skipped} decisions arrived too fast to be listed.`);
  }

  function close(text) {
    if (source) source.close();
    source = null;
    state.textContent = text;
  }

  function open() {
    const mark = here.dataset.events.endsWith("?") ? "" : "&";
    source = new EventSource(`${here.dataset.events}${mark}after=${after}`);
    source.addEventListener("open", () => { state.textContent = "New decisions appear automatically."; });
    source.addEventListener("rows", show);
    source.addEventListener("ended", () => {
      close("The session has ended. Log in again.");
      button.hidden = true;
    });
    source.addEventListener("error", () => {
      if (!source || source.readyState !== EventSource.CLOSED) {
        state.textContent = "Connection lost. Reconnecting…";
        return;
      }
      close("Updates have stopped. Refresh the page.");
      button.textContent = "Resume";
    });
  }

  button.addEventListener("click", () => {
    if (source) {
      close("Paused.");
      button.textContent = "Resume";
    } else {
      button.textContent = "Pause";
      open();
    }
  });
  button.hidden = false;
  open();
})();
