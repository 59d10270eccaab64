// The imports of root: each module below the one that imported it, as wide as it took long.

const LINE_HEIGHT = 20;
// Narrower ones cannot be seen, or not be named.
const NARROWEST = 0.0012, NAMED = 0.02;

function treeOf(imports) {
  const top = {name: "all imports", depth: -1, children: []};
  const around = [top];
  imports.name.forEach((name, place) => {
    const depth = imports.depth[place];
    around.length = depth + 1;
    const node = {name, depth, above: around[depth], wall: imports.wall[place], own: imports.own[place], children: []};
    node.above.children.push(node);
    around.push(node);
  });
  for (const clock of ["wall", "own"]) top[clock] = below(top, clock);
  return top;
}

const below = (node, clock) => sum(node.children.map((child) => child[clock]));
const deepest = (node) => Math.max(node.depth, ...node.children.map(deepest));

// Modules of one package have one colour.
const hueOf = (name) => [...name.split(".")[0]].reduce((hue, letter) => (31 * hue + letter.codePointAt(0)) % 360, 7);

// The name without what it has in common with that of the module above.
function shortName(node) {
  const parts = node.name.split("."), above = (node.above?.name ?? "").split(".");
  const common = parts.findIndex((part, place) => part !== above[place]);
  return parts.slice(common > 0 ? common : 0).join(".");
}

function nodeHint(node, clock) {
  const alone = Math.max(node[clock] - below(node, clock), 0);
  return [
    make("b", {}, node.name),
    line(`${seconds(node[clock])} s with what it imports, ${seconds(alone)} s without`),
    line(`wall ${seconds(node.wall)} s, on a core ${seconds(node.own)} s`),
  ];
}

function flame(run) {
  if (!run.imports) return null;
  const top = treeOf(run.imports);
  const found = make("div", {className: "flame"});
  let clock = "wall", focus = top;

  function box(node, left, width) {
    const top = `${LINE_HEIGHT * (node.depth + 1)}px`;
    const style = {left: percent(left), width: percent(width), top, "--hue": hueOf(node.name)};
    const label = width < NAMED ? "" : `${shortName(node)} ${seconds(node[clock])}`;
    const element = make("button", {style, ariaLabel: node.name, onclick: () => show(node)}, label);
    if (!node.above) element.classList.add("top");
    tell(element, () => nodeHint(node, clock));
    found.append(element);
  }

  function boxes(node, left, width) {
    box(node, left, width);
    const whole = Math.max(node[clock], below(node, clock)) || 1;
    for (const child of node.children) {
      const part = width * child[clock] / whole;
      if (part > NARROWEST) boxes(child, left, part);
      left += part;
    }
  }

  function show(node) {
    hint.hidden = true;
    focus = node;
    found.replaceChildren();
    found.style.height = `${LINE_HEIGHT * (deepest(node) + 2)}px`;
    for (let above = node.above; above; above = above.above) box(above, 0, 1);
    boxes(node, 0, 1);
  }

  const change = (value) => {
    clock = value;
    show(focus);
  };
  const about = `${count(run.imports.name.length)} imports; click to enlarge one, and on what is above it to go back`;
  show(top);
  return make("div", {}, make("div", {className: "bar"},
    make("label", {}, "width ", choice({wall: "wall", own: "time on a core"}, change)),
    make("span", {className: "faint"}, about)), found);
}
