"use strict";
// What the page is made of. Names come from a run and may hold anything: they become text, never markup.

const {phases, cores, runs, comparison} = JSON.parse(document.getElementById("reports").textContent);
const hint = document.getElementById("hint");

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  const {style, ...others} = properties;
  Object.assign(element, others);
  for (const [name, value] of Object.entries(style ?? {})) element.style.setProperty(name, value);
  element.append(...children);
  return element;
}

const count = (value) => value.toLocaleString("en");
const seconds = (value) => (value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : value.toFixed(3));
const sum = (values) => values.reduce((all, value) => all + value, 0);
const percent = (share) => `${100 * share}%`;

const line = (text) => make("div", {}, text);
const dot = (colour) => make("span", {className: "dot", style: {background: colour}});

function choice(options, chosen) {
  const element = make("select", {onchange: () => chosen(element.value)});
  for (const [value, text] of Object.entries(options)) element.append(make("option", {value}, text));
  return element;
}

// Shows `content` beside the mouse while that is over `element`.
function tell(element, content) {
  element.onmousemove = (event) => {
    hint.replaceChildren(...content());
    hint.hidden = false;
    const below = event.clientY + 18;
    const fits = below + hint.offsetHeight < innerHeight;
    const left = Math.min(event.clientX + 14, innerWidth - hint.offsetWidth - 8);
    hint.style.left = `${Math.max(left, 0)}px`;
    hint.style.top = `${fits ? below : event.clientY - hint.offsetHeight - 10}px`;
  };
  element.onmouseleave = () => { hint.hidden = true; };
}

// A table as the command prints it. A phase in the first column has its colour beside it.
function table({head, rows, words, shown}) {
  const kind = (column) => (words.includes(head[column]) ? "word" : "");
  const cell = (tag) => (text, column) => {
    const mark = tag === "td" && !column && Object.hasOwn(phases, text) ? [dot(phases[text].colour)] : [];
    return make(tag, {className: kind(column)}, ...mark, text);
  };
  const row = (tag) => (texts) => make("tr", {}, ...texts.map(cell(tag)));
  const body = make("tbody", {}, ...rows.slice(0, shown).map(row("td")));
  const found = make("div", {className: "scroll"}, make("table", {}, make("thead", {}, row("th")(head)), body));
  if (rows.length > shown) {
    const showAll = () => {
      body.replaceChildren(...rows.map(row("td")));
      more.remove();
    };
    const more = make("button", {className: "more", onclick: showAll}, `show all ${count(rows.length)}`);
    found.append(more);
  }
  return found;
}
