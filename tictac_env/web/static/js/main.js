// Begins: reads the address, asks what the server offers, and shows the view.

import { get } from "./api.js";
import { byId } from "./dom.js";
import { startKeys } from "./keys.js";
import { readLink } from "./link.js";
import { Table } from "./play.js";
import { startTheme } from "./theme.js";

function trouble(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
}

function toggle(id) {
  byId(id).click();
}

async function start() {
  startTheme();
  const about = await get("/api/about");
  const table = new Table(about, trouble);
  const views = { play: (state) => table.open(state) };
  if (about.training) {
    const { startTraining } = await import("./training.js");
    views.train = startTraining(byId("train"), about, table, trouble);
  }
  if (about.tournament) {
    const { startTournament } = await import("./tournament.js");
    views.tournament = startTournament(byId("tournament"), table, trouble);
  }
  const show = async () => {
    const state = readLink();
    const view = views[state.view] ? state.view : "play";
    for (const name of ["play", "train", "tournament"]) byId(name).hidden = name !== view;
    for (const link of document.querySelectorAll("[data-view]")) {
      link.hidden = !views[link.dataset.view];
      if (link.dataset.view === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    trouble("");
    const unchanged = view === "play" && table.shown && !state.game;
    await views[view](unchanged ? table.state : state);
  };
  addEventListener("hashchange", show);
  startKeys(table, {
    u: () => table.undo(),
    r: () => table.begin({}),
    s: () => table.swap(),
    ",": () => table.stepBy("back"),
    ".": () => table.stepBy("on"),
    t: () => toggle("show-thoughts"),
    x: () => toggle("show-exact"),
    e: () => toggle("show-review"),
  });
  await show();
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => trouble(error.message));
