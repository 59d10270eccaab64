// The page from top to bottom.

const page = document.getElementById("page");

function section(title, about, ...children) {
  if (children.length) page.append(make("section", {}, make("h2", {}, title), make("p", {}, about), ...children));
}

// What belongs to one run of several stands under its name. `draw` returns null where there is nothing.
function perRun(draw) {
  return runs.flatMap((run) => {
    const drawn = draw(run);
    const head = runs.length > 1 ? [make("h3", {}, run.label)] : [];
    return drawn ? [...head, drawn] : [];
  });
}

const tables = (name) => perRun((run) => (run.sheets[name] ? table(run.sheets[name]) : null));
const compared = (name) => (comparison[name] ? [table(comparison[name])] : tables(name));

function tiles(run) {
  const tile = ([figure, label]) => make("div", {className: "tile"}, make("b", {}, figure), make("span", {}, label));
  return make("div", {className: "tiles"}, ...run.tiles.map(tile));
}

// What stands between back quotes is to be typed.
const withCode = (text) => text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));

function advice(run) {
  const rows = run.sheets.advice?.rows ?? [];
  const item = ([finding, time, remedy]) => make("li", {},
    make("b", {}, time === "-" ? "" : `${time} s`), make("span", {}, finding), make("em", {}, ...withCode(remedy)));
  return rows.length ? make("ol", {className: "advice"}, ...rows.map(item)) : line("Nothing stands out.");
}

const names = new Intl.ListFormat("en").format(runs.map((run) => run.label));
page.replaceChildren(make("h1", {}, `mpiimport: ${names}`));
for (const run of runs) {
  const title = run.sheets.phases.title;
  const lines = [runs.length > 1 ? `${run.label}: ${title}` : title, ...run.verdict];
  page.append(...lines.map(line => make("p", {}, line)), tiles(run));
}
section(
  "Time line",
  "When each rank was in which phase. All ranks leave the handshake together. Of each phase all time is one piece, "
    + "in the order of the phases. A thin line reaches to where the last rank of a band ends.",
  timeLines(),
);
section(
  "What to do about it",
  "What stands out, the longest first. Times are those of the rank in the middle.",
  ...perRun(advice),
);
section("Who waited for whom", "Where ranks met, and who came last. Times in seconds.", ...tables("waits"));
section("Phases", comparison.phases?.title ?? "Wall; own: on a core; waited: for a core.", ...compared("phases"));
section("Imports of root", "Each module below the one that imported it.", ...perRun(flame));
section("Modules by cost", "Less that of the modules they import, in seconds.", ...tables("modules"));
section(
  "Read, saved and missed",
  "What root asked of the file system for all ranks, and what the others were told from memory.",
  ...compared("operations"),
);
section("Modules not from the store", "They were imported the ordinary way.", ...tables("missed"));
