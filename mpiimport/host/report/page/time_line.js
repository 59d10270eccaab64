// When each rank was in which phase. Many ranks are drawn as bands, which a click opens.

// Several runs are to fit a screen.
const MOST_ROWS = runs.length > 1 ? 32 : 64;
// The program's own time is left out at first where it is longer than all else by this factor.
const HIDES = 3;
const CLOCKS = ["wall", "own", "waited"];

const phasesOf = (run) => Object.keys(phases).filter((phase) => phase in run.line.wall);
const drawnOf = (run, view) => phasesOf(run).filter((phase) => view.program || phase !== "main");
const endOf = (run, row, drawn) => run.line.births[row] + sum(drawn.map((phase) => run.line.wall[phase][row]));
const mean = (values, band) => sum(band.map((row) => values[row])) / band.length;

function bandsOf(run, rows, view) {
  const ends = run.line.ranks.map((_, row) => endOf(run, row, drawnOf(run, view)));
  const sorted = view.order === "rank" ? rows : [...rows].sort((one, other) => ends[other] - ends[one]);
  const size = Math.ceil(sorted.length / MOST_ROWS);
  const bands = [];
  for (let at = 0; at < sorted.length; at += size) bands.push(sorted.slice(at, at + size));
  return bands;
}

function nameOf(run, band) {
  const ranks = band.map((row) => run.line.ranks[row]);
  const first = Math.min(...ranks), last = Math.max(...ranks);
  return first === last ? `${first}` : `${first}-${last}`;
}

// The parts of a bar from left to right, each a width and a colour.
function partsOf(run, band, view) {
  const drawn = drawnOf(run, view);
  if (view.parts === "phases") return drawn.map((phase) => [mean(run.line.wall[phase], band), phases[phase].colour]);
  const [wall, own, waited] = CLOCKS.map((clock) => sum(drawn.map((phase) => mean(run.line[clock][phase], band))));
  // Threads of a process may be on several cores at once.
  const onCore = Math.min(own, wall), without = Math.min(waited, wall - onCore);
  const widths = [onCore, without, wall - onCore - without];
  return Object.values(cores).map((colour, place) => [widths[place], colour]);
}

function bandRow(run, band, longest, view, open) {
  const track = make("span", {className: "track"});
  const put = (from, width, colour, className = "") => {
    const style = {left: percent(from / longest), width: percent(width / longest), background: colour};
    track.append(make("i", {className, style}));
  };
  let end = mean(run.line.births, band);
  for (const [width, colour] of partsOf(run, band, view)) {
    if (width > 0) put(end, width, colour);
    end += width;
  }
  const last = Math.max(...band.map((row) => endOf(run, row, drawnOf(run, view))));
  const name = nameOf(run, band);
  const row = make("button", {className: "row", ariaLabel: `rank ${name}: ends after ${seconds(end)} s`},
    make("span", {className: "name"}, name), track);
  if (band.length > 1) {
    // The mean hides a rank that ends late.
    put(end, last - end, "", "last");
    row.classList.add("band");
    row.onclick = () => open(band);
  }
  tell(row, () => bandHint(run, band, end, last));
  return row;
}

function bandHint(run, band, end, last) {
  const figures = (phase) => CLOCKS.map((clock) => seconds(mean(run.line[clock][phase], band)));
  const rows = phasesOf(run).map((phase) => [phase, ...figures(phase)]);
  const several = band.length > 1;
  return [
    make("b", {}, several ? `ranks ${nameOf(run, band)}, mean of ${band.length}` : `rank ${nameOf(run, band)}`),
    line(`ends after ${seconds(end)} s` + (several ? `, the last one after ${seconds(last)} s` : "")),
    table({head: ["seconds", ...CLOCKS], rows, words: [], shown: rows.length}),
  ];
}

function axis(longest) {
  const power = 10 ** Math.floor(Math.log10(longest / 8));
  const step = [1, 2, 5, 10].map((times) => times * power).find((width) => longest / width <= 10);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const found = make("div", {className: "axis"});
  for (let tick = 0; tick < 0.98 * longest; tick += step) {
    found.append(make("span", {style: {left: percent(tick / longest)}}, `${tick.toFixed(digits)} s`));
  }
  return found;
}

function timeLine(run, longest, view) {
  const all = run.line.ranks.map((_, row) => row);
  const found = make("div", {className: "line"});
  const whose = `${run.scope === "all" ? count(all.length) : "root alone,"} of ${count(run.ranks)} ranks`;
  const draw = (rows) => {
    hint.hidden = true;
    const bands = bandsOf(run, rows, view);
    const about = rows.length < all.length ? `ranks ${nameOf(run, rows)}` : whose;
    const each = bands[0].length > 1 ? `, ${bands[0].length} in each band: click to open one` : "";
    const said = make("span", {className: "faint"}, about + each);
    const bar = make("div", {className: "bar"}, make("b", {}, run.label), said);
    if (rows.length < all.length) bar.append(make("button", {onclick: () => draw(all)}, "show all ranks"));
    found.style.setProperty("--height", `${bands.length > 24 ? 8 : bands.length > 12 ? 13 : 20}px`);
    found.replaceChildren(bar, ...bands.map((band) => bandRow(run, band, longest, view, draw)), axis(longest));
  };
  draw(all);
  return found;
}

function legend(view) {
  const entry = ([text, colour, title]) => make("span", {title}, dot(colour), text);
  const used = Object.keys(phases).filter((phase) => runs.some((run) => phase in run.line.wall));
  const entries = view.parts === "phases"
    ? used.map((phase) => [phase.replaceAll("_", " "), phases[phase].colour, phases[phase].happens])
    : Object.entries(cores).map(([text, colour]) => [text, colour, ""]);
  return make("div", {className: "bar faint"}, ...entries.map(entry));
}

// All runs, on one scale.
function timeLines() {
  const view = {order: "rank", parts: "phases", program: true};
  const longest = (view) =>
    Math.max(1e-6, ...runs.flatMap((run) => run.line.ranks.map((_, row) => endOf(run, row, drawnOf(run, view)))));
  // Where imports are not told from the program, they are a part of its time.
  const isTold = runs.every((run) => "imports" in run.line.wall);
  view.program = !isTold || longest(view) < HIDES * longest({...view, program: false});
  const lines = make("div");
  const draw = () => lines.replaceChildren(legend(view), ...runs.map((run) => timeLine(run, longest(view), view)));
  const change = (name) => (value) => {
    view[name] = value;
    draw();
  };
  const changed = () => change("program")(program.checked);
  const program = make("input", {type: "checkbox", checked: view.program, onchange: changed});
  draw();
  return make("div", {}, make("div", {className: "bar"},
    make("label", {}, "order ", choice({rank: "by rank", slowest: "slowest first"}, change("order"))),
    make("label", {}, "colours ", choice({phases: "phases", cores: "on a core or waiting"}, change("parts"))),
    make("label", {}, program, " the program's own time")), lines);
}
