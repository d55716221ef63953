"use strict";
// The stage that is shown, the reports of a conversion, and what stood in its way.

const About = (() => {
  const { html, number } = Text;

  function show(stage) {
    const { model } = stage;
    return html("article", { class: "about" },
      html("h2", {}, model.name),
      model.refusal ? refusal(model.refusal) : null,
      model.notes.length ? Details.section("Notes", html("ul", {}, model.notes.map((each) => html("li", {}, each)))) : null,
      Details.section(`This stage: ${stage.dialect}, ${stage.title}`, stage.about ? html("p", { class: "dim" }, stage.about) : null,
        Details.table(Object.entries(stage.counts).map(([name, count]) => [html("code", {}, name), number(count)]), ["op", "count"]),
        stage.steps.length ? html("details", {}, html("summary", {}, `${stage.steps.length} passes in ${milliseconds(stage.seconds)}`),
          Details.table(stage.steps.map(([text, seconds, changed]) => [html("code", {}, text), milliseconds(seconds), changed ? "changed" : ""]), ["pass", "time", ""])) : null),
      memory(stage),
      tree("What the target says", model.target_report, true), tree("Quantization", without(model.quantization, ["measured"])), tree("Report of the conversion", without(model.report, [])),
      html("p", { class: "dim" }, `transload ${Model.data.version}`));
  }

  const milliseconds = (seconds) => (seconds >= 1 ? `${seconds.toFixed(2)} s` : `${(seconds * 1000).toFixed(1)} ms`);

  const without = (told, names) => told && Object.fromEntries(Object.entries(told).filter(([key]) => !names.includes(key)));

  function refusal(error) {
    return html("section", { class: "refusal" }, html("h3", {}, "It did not get to the end"), html("p", {}, error.message), error.hint ? html("p", {}, error.hint) : null,
      html("ul", {}, error.findings.map((each) => html("li", {}, html("b", {}, each.what), each.count > 1 ? ` (${each.count})` : "", `: ${each.why}`, each.names.length ? html("span", { class: "dim" }, ` at ${each.names.slice(0, 5).join(", ")}`) : "", each.hint ? html("p", { class: "dim" }, each.hint) : null))));
  }

  /** How many bytes of tensors are alive after each op, constants aside. */
  function memory(stage) {
    const last = new Map();
    stage.ops.forEach((op, index) => op.in.forEach((each) => last.set(each, index)));
    stage.outputs.forEach((each) => last.set(each, stage.ops.length));
    let live = stage.inputs.reduce((sum, each) => sum + (stage.values[each].bytes || 0), 0);
    const ending = new Map();
    for (const [value, index] of last) (ending.get(index) || ending.set(index, []).get(index)).push(value);
    const sizes = stage.ops.map((op, index) => {
      live += Model.bytesOf(op);
      const now = live;
      for (const value of ending.get(index) || []) if (stage.values[value].constant === undefined) live -= stage.values[value].bytes || 0;
      for (const value of op.out) if (!last.has(value)) live -= stage.values[value].bytes || 0;
      return now;
    });
    const most = Math.max(...sizes, 0);
    if (!most) return null;
    const w = 340, h = 70;
    const path = sizes.map((size, index) => `${index ? "L" : "M"}${(index / Math.max(sizes.length - 1, 1) * w).toFixed(1)} ${(h - size / most * h).toFixed(1)}`).join("");
    const at = stage.ops[sizes.indexOf(most)];
    return Details.section("Memory of tensors", html("figure", {}, Text.svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": "memory along the network" },
      Text.svg("path", { class: "wanted area", d: `M0 ${h}${path.replace("M", "L")}L${w} ${h}z` })),
    html("figcaption", {}, html("span", {}, "first op"), html("span", {}, `most: ${Text.bytes(most)}, at ${at.op}`), html("span", {}, "last"))));
  }

  /** Anything that JSON holds, as lists that open. */
  function tree(title, told, open) {
    if (!told || !Object.keys(told).length) return null;
    return html("section", {}, html("details", { open }, html("summary", {}, title), node(told, 0)));
  }

  function node(value, depth) {
    if (value === null || typeof value !== "object") return html("span", {}, number(value));
    const entries = Array.isArray(value) ? value.map((each, index) => [index, each]) : Object.entries(value);
    if (!entries.length) return html("span", { class: "dim" }, "none");
    if (Array.isArray(value) && value.every((each) => each && typeof each === "object" && !Array.isArray(each) && Object.values(each).every((one) => one === null || typeof one !== "object"))) {
      const columns = [...new Set(value.flatMap(Object.keys))].slice(0, 10);
      return Details.table(value.slice(0, 300).map((row) => columns.map((key) => (row[key] === undefined ? "" : number(row[key])))), columns);
    }
    return html("dl", {}, entries.slice(0, 300).map(([key, each]) => (each !== null && typeof each === "object" && Object.keys(each).length > 3 && depth < 6
      ? html("details", {}, html("summary", {}, key), node(each, depth + 1))
      : html("div", { class: "row" }, html("dt", {}, key), html("dd", {}, node(each, depth + 1))))));
  }

  return { show };
})();
