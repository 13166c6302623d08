// The form of a training: agent, preset, game, opponent, seat, length and main settings.

import { el, option } from "./dom.js";

const SEATS = { first: "first", second: "second", random: "a random one each game", alternate: "first and second in turn" };
const WORDS = { learning_rate: "Learning rate", epsilon: "Exploration (epsilon)", gamma: "Discount (gamma)", initial_value: "Value at first" };
const OPPONENTS = ["random", "rule", "minimax", "minimax:2", "mcts:50", "level:3", "level:6", "perfect:0.3", "perfect"];
const ITSELF = "itself";
const SMALL = ["KInARow-v0:3x4-3", "KInARow-v0:3x4-3,gravity=False"];

export class Plan {
  constructor(menu, games) {
    this.menu = menu;
    const agents = Object.keys(menu.agents);
    this.agent = el("select", { onchange: () => this.choose("") }, agents.map((name) => option(name, name)));
    this.preset = el("select", { onchange: () => this.choose(this.preset.value) });
    this.game = el("select", {}, games.map((one) => option(one.name, one.title)), SMALL.map((name) => option(name, name.replace("KInARow-v0:", "size "))));
    this.opponent = el("select", { onchange: () => this.seatOff() }, option(ITSELF, "itself"), OPPONENTS.map((name) => option(name, name)));
    this.seat = el("select", {}, menu.seats.map((name) => option(name, SEATS[name])));
    this.total = el("input", { type: "number", min: 1, max: 2_000_000, required: true });
    this.unit = el("span", {}, "Games");
    this.proven = el("input", { type: "checkbox" });
    this.main = el("div", { class: "form" });
    this.seed = el("input", { type: "number", min: 0, max: 1e9, value: 0, required: true });
    const label = (text, input) => el("label", {}, text, input);
    this.element = el("div", { class: "form" },
      label("Agent", this.agent),
      label("Settings to begin with", this.preset),
      label("Game", this.game),
      label("Opponent in training", this.opponent),
      label("Its seat", this.seat),
      label(this.unit, this.total),
      el("details", {}, el("summary", {}, "More settings"), this.main, label("Seed", this.seed)),
      el("label", { class: "check" }, this.proven, "Stop as soon as nothing beats it"),
    );
    this.choose("");
  }

  // Shows the plan of a preset.
  choose(name) {
    const agent = this.menu.agents[this.agent.value];
    const plan = agent.presets[name];
    this.base = plan;
    this.preset.replaceChildren(...Object.keys(agent.presets).map((one) => option(one, one || "the usual ones", name)));
    this.opponent.value = plan.opponent ?? ITSELF;
    this.seat.value = plan.play_as;
    this.total.value = plan.total;
    this.unit.textContent = agent.unit === "steps" ? "Steps" : "Games";
    this.inputs = Object.entries(agent.settings).map(([setting, usual]) => {
      const input = el("input", { value: JSON.stringify(plan.settings[setting] ?? usual), spellcheck: "false", "data-setting": setting });
      return { setting, usual, input };
    });
    this.main.replaceChildren(...this.inputs.map(({ setting, input }) => el("label", {}, WORDS[setting], input)));
    this.seatOff();
  }

  seatOff() {
    this.seat.disabled = this.opponent.value === ITSELF;
  }

  // What was chosen, as the server takes it.
  chosen() {
    const settings = { ...this.base.settings };
    for (const { setting, usual, input } of this.inputs) {
      let value;
      try {
        value = JSON.parse(input.value);
      } catch {
        throw new Error(`${WORDS[setting]} must be a number, or several in brackets such as [0.8, 0.4, 0.1], not ${input.value}`);
      }
      if (JSON.stringify(value) !== JSON.stringify(settings[setting] ?? usual)) settings[setting] = value;
    }
    return {
      agent: this.agent.value,
      game: this.game.value,
      opponent: this.opponent.value === ITSELF ? null : this.opponent.value,
      play_as: this.seat.value,
      total: Number(this.total.value),
      seed: Number(this.seed.value),
      rewards: this.base.rewards,
      settings,
      until_proven: this.proven.checked,
    };
  }
}
