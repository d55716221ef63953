"use strict";
// All layers that were compared, worst first, and what quantizing cost as a whole.

const Layers = (() => {
  const { html, number, bytes, decibels } = Text;
  let sorted = { key: "judged", up: true };

  function show(tell) {
    const { comparison } = Model.data;
    if (comparison.why) return html("article", {}, html("h2", {}, "No comparison"), html("p", {}, comparison.why.message), comparison.why.hint && html("p", {}, comparison.why.hint));
    const [worst] = Model.worst();
    return Details.coloured(html("article", { class: "layers" },
      html("h2", {}, comparison.of.join(" and ")),
      html("p", { class: "dim" }, comparison.random ? "On random numbers: --data or --input gives real ones. " : "",
        `Measured on ${comparison.samples} sample${comparison.samples === 1 ? "" : "s"}; signal to noise in dB, higher is better.`,
        comparison.judged === "own" ? " Own: the error that the op makes itself, of the operands that it is given. Accumulated: beside the float model's tensor." : ""),
      worst && html("p", { class: "worst" }, "The worst layer is ", html("button", { class: "link", id: "worst", onclick: () => tell.layer(worst) }, worst.name), ` (${worst.op}): ${decibels(worst[comparison.judged])} dB${comparison.judged === "own" ? " by itself" : ""}.`),
      outputs(comparison), sizes(comparison), table(comparison, tell)));
  }

  function outputs({ outputs: all }) {
    return Object.keys(all).length ? Details.section("Outputs", Details.table(Object.entries(all).map(([name, near]) => [name,
      html("span", {}, html("i", { class: "dot", "data-db": near.sqnr }), decibels(near)), number(Number(near.cos)), number(Number(near.euclid))]), ["output", "dB", "cosine", "euclid"])) : null;
  }

  function sizes({ sizes: both }) {
    return both ? html("p", {}, `Weights ${bytes(both.weights[0])} → ${bytes(both.weights[1])}, activations ${bytes(both.activations[0])} → ${bytes(both.activations[1])} at most.`) : null;
  }

  const keys = {
    "#": (layer) => layer.place,
    layer: (layer) => layer.name,
    own: (layer) => (layer.own ? Number(layer.own.sqnr) : Infinity),
    "acc.": (layer) => Number(layer.accumulated.sqnr),
    cos: (layer) => Number(layer.accumulated.cos),
    type: (layer) => layer.type,
    "sat.": (layer) => -(layer.saturated || 0),
  };

  function table(comparison, tell) {
    const columns = Object.keys(keys).filter((key) => comparison.judged === "own" || !["own", "sat."].includes(key));
    const by = sorted.key === "judged" ? (comparison.judged === "own" ? "own" : "acc.") : sorted.key;
    const worth = (layer) => {
      const value = keys[by](layer);
      return Number.isNaN(value) ? -Infinity : value;
    };
    const rows = [...comparison.layers].sort((one, other) => {
      const [a, b] = [worth(one), worth(other)];
      return (a < b ? -1 : a > b ? 1 : 0) * (sorted.up ? 1 : -1);
    });
    const cells = {
      "#": (layer) => layer.place,
      layer: (layer) => [html("button", { class: "link", title: layer.name, onclick: () => tell.layer(layer) }, Text.short(Text.leaf(layer.name), 34)), html("small", { class: "dim" }, ` ${layer.op}`)],
      own: (layer) => (layer.own ? [html("i", { class: "dot", "data-db": layer.own.sqnr }), decibels(layer.own)] : "–"),
      "acc.": (layer) => [html("i", { class: "dot", "data-db": layer.accumulated.sqnr }), decibels(layer.accumulated)],
      cos: (layer) => Number(layer.accumulated.cos).toFixed(4),
      type: (layer) => layer.type,
      "sat.": (layer) => (layer.saturated ? `${(layer.saturated * 100).toFixed(2)} %` : "0"),
    };
    const body = html("table", { class: "rows" },
      html("tr", {}, columns.map((key) => html("th", {}, html("button", { "aria-sort": key === by ? (sorted.up ? "ascending" : "descending") : null, onclick: () => {
        sorted = { key, up: key === by ? !sorted.up : true };
        tell.layers();
      } }, key === by ? `${key} ${sorted.up ? "↑" : "↓"}` : key)))),
      rows.map((layer) => html("tr", {}, columns.map((key) => html("td", { class: key === "layer" ? "name" : null }, cells[key](layer))))));
    return Details.section("Layers", html("div", { class: "wide" }, body));
  }

  return { show };
})();
