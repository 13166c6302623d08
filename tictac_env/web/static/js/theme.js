// Dark or light: the system's choice, until the switch says otherwise.

import { byId } from "./dom.js";
import { keep, kept } from "./kept.js";

const KEY = "theme";

export function startTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = kept(KEY);
  const isDark = () => (chosen ? chosen === "dark" : system.matches);
  const show = () => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  };
  button.addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    keep(KEY, chosen);
    show();
  });
  system.addEventListener("change", show);
  show();
}
