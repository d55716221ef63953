"use strict";
// Everything about one op.

const Details = (() => {
  const { html, number, bytes, decibels } = Text;

  const section = (title, ...content) => html("section", {}, html("h3", {}, title), ...content);
  const table = (rows, header) => html("div", { class: "wide" }, html("table", {},
    header && html("tr", {}, header.map((each) => html("th", {}, each))),
    rows.map((row) => html("tr", {}, row.map((each) => html("td", {}, each))))));

  function chip(op, tell, current) {
    const layer = Model.layer(op);
    const near = layer && (layer.own || layer.accumulated);
    return html("button", { class: current ? "chip current" : "chip", title: `${op.op} ${op.name}`, onclick: () => tell.op(op) },
      near && html("i", { class: "dot", "data-db": near.sqnr }), op.op, html("small", {}, Text.short(Text.leaf(op.name || ""), 28)));
  }

  /** Colours of what was made with `data-db`: styles of elements are set from here, as the policy of the page has it. */
  function coloured(root) {
    for (const dot of root.querySelectorAll("[data-db]")) dot.style.background = Plots.decibelColour({ sqnr: dot.dataset.db });
    return root;
  }

  function show(op, tell) {
    const { stage } = op;
    const layer = Model.layer(op);
    return coloured(html("article", { class: "op" },
      html("h2", {}, op.op),
      html("p", { class: "tensor" }, op.name || html("span", { class: "dim" }, "computes no tensor with a name"), op.part && html("span", { class: "badge" }, "a part of it")),
      layer && compared(layer),
      lineage(op, tell),
      cost(op),
      section("Takes", tensors(op.in, stage, tell)),
      section("Gives", tensors(op.out, stage, tell, op)),
      constants(op),
      op.attributes.length ? section("Attributes", table(op.attributes.map(([key, text]) => [key, html("code", {}, text)]))) : null,
      declaration(op)));
  }

  /** A layer that no op computes: an input. */
  const ofLayer = (layer) => coloured(html("article", { class: "op" }, html("h2", {}, layer.op), html("p", { class: "tensor" }, layer.name), compared(layer)));

  function tensors(places, stage, tell) {
    if (!places.length) return html("p", { class: "dim" }, "nothing");
    return html("ul", { class: "tensors" }, places.map((place) => {
      const value = stage.values[place];
      const maker = value.by === undefined ? null : stage.ops[value.by];
      const name = value.name || (maker ? maker.op : value.constant === undefined ? "argument" : "constant");
      return html("li", {}, maker ? html("button", { class: "link", onclick: () => tell.op(maker) }, name) : html("b", {}, name),
        " ", html("code", {}, stage.types[value.type]), value.bytes ? html("span", { class: "dim" }, ` ${bytes(value.bytes)}`) : null,
        value.constant === undefined ? null : html("span", { class: "badge" }, "constant"));
    }));
  }

  function constants(op) {
    const places = [...new Set(op.in.map((each) => op.stage.values[each].constant).filter((each) => each !== undefined))];
    if (!places.length) return null;
    return section("Constants", places.map((place) => {
      const one = Model.data.constants[place];
      return html("div", { class: "card constant" }, html("p", {}, html("code", {}, one.type), html("span", { class: "dim" }, ` ${bytes(one.bytes)}`)),
        one.counts ? Plots.histogram({ ...one, label: "histogram of a constant" }) : null,
        one.counts ? html("p", { class: "facts" }, `mean ${number(one.mean)}, deviation ${number(one.std)}, ${(one.zeros * 100).toFixed(1)} % zeros`,
          one.odd ? `, ${number(one.odd)} not finite` : "", one.looked < one.of ? `; ${number(one.looked)} of ${number(one.of)} were looked at` : "") : null,
        one.first ? html("p", { class: "facts dim" }, one.first.map(number).join("  "), one.of > one.first.length ? " …" : "") : null,
        one.why ? html("p", { class: "dim" }, one.why) : null);
    }));
  }

  function cost(op) {
    const found = Model.cost(op);
    return found && section(`On ${op.stage.model.target || "the target"}`, table(Object.entries(found).map(([key, value]) => [key.replace(/_/g, " "), number(value)])));
  }

  /** What the op came from and became, stage by stage, with the rules. */
  function lineage(op, tell) {
    const rows = Model.journey(op);
    if (op.stage.model.stages.length < 2) return null;
    return section("Where it came from, and what it became", html("ol", { class: "lineage" }, op.stage.model.stages.map((_, index) => {
      const stage = Model.stages[op.stage.model.first + index];
      const ops = rows.get(stage.place) || [];
      const rules = [...new Set(ops.flatMap((each) => each.rules))].map((place) => Model.data.rules[place]);
      return html("li", { class: stage === op.stage ? "now" : null },
        rules.length ? html("p", { class: "rules" }, rules.slice(0, 12).map((rule) => html("span", { class: "rule", title: rule.rule }, "↓ ", html("b", {}, rule.rule.split(":").pop()),
          html("span", { class: "dim" }, ` ${rule.plugin} · ${rule.source} · ${rule.step}`)))) : null,
        html("span", { class: "stage" }, stage.dialect, html("small", {}, stage.title)),
        ops.length ? html("span", { class: "chips" }, ops.slice(0, 24).map((each) => chip(each, tell, each === op)), ops.length > 24 ? ` and ${ops.length - 24} more` : "")
          : html("span", { class: "dim" }, rows.size && stage.place > op.stage.place ? "gone: nothing is left of it" : "not there"));
    })));
  }

  /** A layer's errors, and its numbers beside the float model's. */
  function compared(layer) {
    const names = ["float", layer.type === "input" ? "given" : layer.scale === undefined && Model.data.comparison.judged === "accumulated" ? "other" : "quantized"];
    const wanted = Model.numbers(layer.wanted), found = Model.numbers(layer.found);
    const badge = (near, title, hint) => near && html("div", { class: "error", title: hint }, html("i", { class: "dot", "data-db": near.sqnr }), html("b", {}, decibels(near), decibels(near) === "exact" ? "" : " dB"), html("span", { class: "dim" }, title));
    const ends = layer.low === null || layer.low === undefined ? [] : [layer.low, layer.high];
    const tabs = {
      "against each other": () => Plots.scatter(wanted, found, names),
      "along the tensor": () => Plots.along(wanted, found, names),
      distributions: () => html("div", {}, Plots.distributions(wanted, found, names),
        Plots.histogram({ counts: layer.counts, from: layer.counts_from, to: layer.counts_to, marks: ends, label: "range" }),
        ends.length ? html("p", { class: "facts" }, `the type holds ${number(layer.low)} to ${number(layer.high)}; seen ${number(layer.seen_low)} to ${number(layer.seen_high)}; ${(layer.saturated * 100).toFixed(3)} % beyond`) : null),
    };
    const picture = html("div", { class: "picture" });
    const choose = (name) => {
      picture.replaceChildren(tabs[name]());
      for (const each of bar.children) each.setAttribute("aria-pressed", String(each.textContent === name));
    };
    const bar = html("div", { class: "choices" }, Object.keys(tabs).map((name) => html("button", { onclick: () => choose(name) }, name)));
    choose("against each other");
    return html("section", { class: "compared" }, html("h3", {}, "Beside the float model"),
      html("div", { class: "errors" }, badge(layer.own, "own error", "to what the float op gives of the same quantized operands"), badge(layer.accumulated, "accumulated", "to the float model's tensor")),
      html("p", { class: "facts" }, `${layer.type}${layer.scale ? `, scale ${number(layer.scale)}, zero point ${layer.zero_point}` : ""} · cosine ${Number(layer.accumulated.cos).toFixed(5)} · euclid ${Number(layer.accumulated.euclid).toFixed(4)}`,
        layer.saturated > 0 ? html("b", { class: "warn" }, ` · ${(layer.saturated * 100).toFixed(2)} % saturated`) : null),
      layer.why ? html("p", {}, layer.why) : null, diagnosis(layer), bar, picture,
      html("p", { class: "dim facts" }, `${wanted.length.toLocaleString("en")} numbers of the tensor, evenly spread`));
  }

  /** What the numbers of a layer say about where its error comes from. */
  function diagnosis(layer) {
    if (!layer.own || Number(layer.own.sqnr) > 25) return null;
    const seen = Math.max(Math.abs(layer.seen_low), Math.abs(layer.seen_high)), steps = layer.scale ? seen / layer.scale : 0;
    const text = layer.saturated > 0.001 ? "Many of its numbers lie beyond what the type holds: its range is too narrow. A wider one (--method minmax, more samples) may lose less."
      : layer.scale && layer.high - layer.low > 3 * (layer.seen_high - layer.seen_low) ? "Its range is far wider than what was seen: most levels are never used. Its calibration may be stale."
        : steps && steps < 16 ? "Few levels are left for its numbers." : "Its rounding, or that of its weights, loses most here. More bits for it (--layers, int16x8), or leaving it float (--floats), would help.";
    return html("p", { class: "advice" }, text);
  }

  function declaration(op) {
    const said = Model.data.declarations[op.op];
    if (!said) return section("Declaration", html("p", { class: "dim" }, `No dialect declares ${op.op}.`));
    const slots = (title, rows) => rows.length ? html("div", {}, html("h4", {}, title), table(rows)) : null;
    return html("section", {}, html("details", {}, html("summary", {}, "Declaration of ", html("code", {}, op.op)),
      html("p", { class: "doc" }, said.doc),
      slots("Operands", said.operands.map((each) => [html("code", {}, each.name), each.kind, each.type, each.doc])),
      slots("Results", said.results.map((each) => [html("code", {}, each.name), each.kind, each.type, each.doc])),
      slots("Attributes", said.attributes.map((each) => [html("code", {}, each.name), each.type, String(each.default), each.doc])),
      slots("Regions", said.regions.map((each) => [html("code", {}, each.name), each.doc])),
      said.constraints.length ? html("div", {}, html("h4", {}, "What must hold"), html("ul", {}, said.constraints.map((each) => html("li", {}, each)))) : null,
      said.traits.length ? html("p", { class: "dim" }, `Traits: ${said.traits.join(", ")}`) : null));
  }

  return { show, ofLayer, coloured, section, table };
})();
