// The board in a notebook. The kernel knows the rules and plays; this shows its views and sends it clicks.
// `widget.py` puts STYLE and the imported modules, which are the page's, before it.

import { button, el, spaced } from "../web/static/base.js";
import { Board } from "../web/static/board.js";
import { notesOf } from "../web/static/insight.js";

export function render({ model, el: place }) {
  // A shadow root: the notebook's styles and the board's do not meet. The attribute keeps the notebook's keys away.
  const host = el("div", { "data-lm-suppress-shortcuts": "true" });
  const root = host.attachShadow({ mode: "open" });
  const ask = (what, fields = {}) => model.send({ do: what, ...fields });

  const status = el("p", { class: "status", role: "status" });
  const problem = el("p", { class: "notice", role: "alert", hidden: true });
  const insight = el("p", { class: "soft" });
  const stand = el("div");
  const undo = button("Undo", () => ask("undo"));
  const swap = button("Swap sides", () => ask("swap"));
  const thoughts = el("input", { type: "checkbox", onchange: () => ask("show", { thoughts: thoughts.checked }) });
  const exact = el("input", { type: "checkbox", onchange: () => ask("show", { exact: exact.checked }) });
  const thinks = el("label", {}, thoughts, " What it thinks");
  const choices = el("div", { class: "choices" }, thinks, el("label", {}, exact, " Show the truth"));
  const buttons = el("div", { class: "buttons" }, undo, button("New game", () => ask("new")), swap);
  root.append(el("style", {}, STYLE), el("div", { class: "widget" }, status, stand, problem, insight, buttons, choices));

  const complain = (text) => {
    problem.textContent = text;
    problem.hidden = !text;
  };
  const play = ({ action }) => {
    board.open = false; // until the kernel has answered: a second click would be for this board, too
    board.update();
    ask("play", { action, moves: board.position.moves });
  };
  const board = new Board(stand, { play, illegal: complain });

  const show = () => {
    const view = model.get("view");
    if (!view.position) return;
    const { notes, words } = notesOf(view.thought || null, view.truth || null);
    board.show(view.position, { open: view.open, notes });
    stand.classList.toggle("thinking", view.thinking);
    status.textContent = view.status;
    complain(view.problem);
    insight.replaceChildren(...spaced(words));
    insight.hidden = !words.length;
    undo.disabled = !view.undo;
    swap.hidden = thinks.hidden = view.opponent === null;
    thoughts.checked = view.shows.thoughts;
    exact.checked = view.shows.exact;
    host.dataset.theme = isDark(host) ? "dark" : "light";
  };

  place.append(host);
  model.on("change:view", show);
  show();
  const frame = requestAnimationFrame(show); // now that the board is in the page, whose colours can be asked for
  return () => {
    cancelAnimationFrame(frame);
    model.off("change:view", show);
    host.remove();
  };
}

// JupyterLab says so; elsewhere the text is light if the page is dark.
function isDark(host) {
  const said = document.body.dataset.jpThemeLight;
  if (said) return said === "false";
  const [red, green, blue] = (getComputedStyle(host).color.match(/[\d.]+/g) || [0, 0, 0]).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140;
}
