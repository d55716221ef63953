"use strict";
// What is shown, and what happens when something is clicked.

(async () => {
  const { html } = Text;
  const data = await Model.open();
  const at = (id) => document.getElementById(id);
  const stages = Model.stages;
  const state = { stage: null, op: null, tab: "about", colour: "kind", beside: null };
  at("title").textContent = data.title;

  const tell = {
    op(op) { choose(op); },
    layer(layer) {
      const preferred = [state.stage, ...stages.filter((each) => each.title === "quantized"), ...stages];
      for (const stage of preferred) {
        const op = stage && Model.opOf(stage, layer);
        if (op) return choose(op);
      }
      state.op = null; // an input: no op computes it
      main.select(null);
      state.layer = layer;
      state.tab = "op";
      panel();
      return document.body.classList.add("reading");
    },
    value(stage, place) { state.tab = "about"; panel(); },
    layers() { panel(); },
  };

  const main = new Canvas(at("panes"), tell);
  let second = null;

  // --- colours

  const hues = new Map();
  const kindHue = (name) => {
    if (!hues.has(name)) hues.set(name, [...name.slice(name.indexOf(".") + 1).toLowerCase().replace(/_?\d+d?$/, "")].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7));
    return hues.get(name);
  };
  const ofAll = (box) => {
    const ops = [];
    Layout.leaves(box.node, (op) => ops.push(op));
    return ops;
  };
  const paintError = (key) => (box) => {
    const layers = ofAll(box).map(Model.layer).filter((layer) => layer && layer[key]);
    if (!layers.length) return null;
    const near = layers.map((layer) => layer[key]).reduce((one, other) => (Number(other.sqnr) < Number(one.sqnr) ? other : one));
    const fill = Plots.decibelColour(near);
    return { fill, strong: `color-mix(in srgb, ${fill} 30%, var(--card))`, text: Text.decibels(near) };
  };
  const paintAmount = (amount, text) => (stage) => {
    const most = Math.max(...stage.ops.map(amount), 1e-9);
    return (box) => {
      const sum = ofAll(box).reduce((all, op) => all + amount(op), 0);
      if (!sum) return null;
      const fill = `hsl(${Math.round(210 - 200 * Math.min(sum / most, 1))} 75% 50%)`;
      return { fill, strong: `color-mix(in srgb, ${fill} ${Math.round(10 + 35 * Math.min(sum / most, 1))}%, var(--card))`, text: text(sum) };
    };
  };
  const colours = { kind: { label: "kind of op", of: () => (box) => (box.op ? { fill: `hsl(${kindHue(box.op.op)} 60% 55%)` } : null) } };
  if (data.comparison && data.comparison.layers.length) {
    if (data.comparison.judged === "own") colours.own = { label: "own error (dB)", of: () => paintError("own") };
    colours.accumulated = { label: "accumulated error (dB)", of: () => paintError("accumulated") };
  }
  const numbersOf = new Set(data.models.flatMap((model) => Object.values(model.costs).flatMap((row) => Object.keys(row).filter((key) => typeof row[key] === "number"))));
  for (const key of [...numbersOf].sort((one, other) => (other === "cycles") - (one === "cycles")).slice(0, 8)) {
    const shared = new Map(); // what is told of a tensor is shared among the ops that it became
    const amount = (op) => {
      const found = Model.cost(op);
      if (!found || typeof found[key] !== "number") return 0;
      if (!shared.has(op.stage)) {
        const count = new Map();
        for (const each of op.stage.ops) if (Model.cost(each)) count.set(Model.cost(each), (count.get(Model.cost(each)) || 0) + 1);
        shared.set(op.stage, count);
      }
      return found[key] / shared.get(op.stage).get(found);
    };
    colours[`cost ${key}`] = { label: key.replace(/_/g, " "), of: (stage) => paintAmount(amount, Text.number)(stage) };
  }
  colours.bytes = { label: "bytes of results", of: (stage) => paintAmount(Model.bytesOf, Text.bytes)(stage) };
  state.colour = colours.own ? "own" : colours.accumulated ? "accumulated" : colours["cost cycles"] ? "cost cycles" : "kind";
  at("colour").append(...Object.entries(colours).map(([key, { label }]) => html("option", { value: key }, label)));
  at("colour").value = state.colour;
  at("colour").addEventListener("change", (event) => {
    state.colour = event.target.value;
    paint();
  });
  function paint() {
    for (const canvas of [main, second]) if (canvas) canvas.recolour(colours[state.colour].of(canvas.stage));
  }

  // --- stages

  const button = (stage) => html("button", { "data-stage": stage.place, title: `${stage.model.name}: ${stage.dialect}, ${stage.title}`, onclick: () => go(stage) },
    html("b", {}, stage.dialect), html("small", {}, `${stage.title} · ${stage.ops.length.toLocaleString("en")}`));
  at("stages").append(...data.models.flatMap((model) => [
    data.models.length > 1 ? html("span", { class: "model", title: model.name }, Text.short(Text.leaf(model.name), 22)) : "", ...stages.filter((stage) => stage.model === model).map(button)]));
  const buttons = [...at("stages").querySelectorAll("button")];
  at("beside").append(html("option", { value: "" }, "nothing"), ...stages.map((stage) => html("option", { value: stage.place }, `${stage.dialect}, ${stage.title}${data.models.length > 1 ? ` (${stage.number + 1})` : ""}`)));
  at("beside").addEventListener("change", (event) => beside(event.target.value === "" ? null : stages[Number(event.target.value)]));

  function beside(stage) {
    state.beside = stage;
    at("panes").classList.toggle("two", Boolean(stage));
    if (!stage) {
      if (second) second.element.remove();
      second = null;
    } else {
      second = second || new Canvas(at("panes"), tell);
      second.show(stage);
    }
    at("beside").value = stage ? String(stage.place) : "";
    paint();
    requestAnimationFrame(() => {
      main.fit();
      if (second) second.fit();
      follow();
    });
  }

  /** Show a stage, and there what the op that is selected came from or became. */
  function go(stage) {
    const relatives = state.op ? Model.journey(state.op).get(stage.place) : null;
    const twin = state.op && !relatives && state.op.stage.model !== stage.model ? stage.named.get(state.op.name) : null;
    enter(stage);
    state.op = relatives ? relatives[0] : twin || (state.op && state.op.stage === stage ? state.op : null);
    if (state.op) {
      main.select(state.op);
      if (state.tab === "op") panel();
    } else {
      main.select(null);
      if (state.tab === "op") state.tab = "about";
    }
    if (state.tab !== "layers") panel();
    follow();
  }

  function enter(stage) {
    if (state.stage === stage) return;
    state.stage = stage;
    main.show(stage);
    main.recolour(colours[state.colour].of(stage));
    for (const each of buttons) each.setAttribute("aria-current", String(each.dataset.stage === String(stage.place)));
    buttons[stage.place].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Show the op in the second drawing, too. */
  function follow() {
    if (!second || !state.op) return;
    const rows = Model.journey(state.op).get(second.stage.place);
    const other = second.stage === state.op.stage ? state.op : rows ? rows[0] : second.stage.named.get(state.op.name);
    second.select(other || null);
  }

  function choose(op) {
    if (second && op.stage === second.stage && op.stage !== state.stage) {
      second.select(op, { move: false });
      const rows = Model.journey(op).get(state.stage.place);
      const other = rows ? rows[0] : state.stage.named.get(op.name);
      state.op = op;
      main.select(other || null);
    } else {
      const same = state.stage === op.stage;
      enter(op.stage);
      state.op = op;
      main.select(op, { move: !same || !inSight(op) });
      follow();
    }
    state.tab = "op";
    panel();
    if (document.body.classList.contains("reading")) return;
    document.body.classList.add("reading");
    if (matchMedia("(max-width: 800px)").matches) requestAnimationFrame(() => main.centre(main.layout.shownIn.get(main.selected)));
  }

  function inSight(op) {
    const box = main.layout.shownIn.get(op);
    if (!box || box.op !== op) return false;
    const x = box.x * main.view.scale + main.view.x, y = box.y * main.view.scale + main.view.y;
    return main.view.scale > 0.3 && x > 0 && y > 30 && x + box.w * main.view.scale < main.svg.clientWidth && y + box.h * main.view.scale < main.svg.clientHeight;
  }

  // --- the panel

  function panel() {
    const tabs = { op: "Op", ...(data.comparison ? { layers: "Layers" } : {}), about: "Model and report" };
    at("tabs").replaceChildren(...Object.entries(tabs).map(([key, label]) => html("button", { role: "tab", "aria-selected": String(key === state.tab), "data-tab": key, onclick: () => {
      state.tab = key;
      panel();
      document.body.classList.add("reading");
    } }, label)), html("button", { class: "close", title: "close", "aria-label": "close", onclick: () => document.body.classList.remove("reading") }, "×"));
    const made = state.tab === "layers" ? Layers.show(tell) : state.tab === "about" ? About.show(state.stage)
      : state.op ? Details.show(state.op, tell) : state.layer ? Details.ofLayer(state.layer) : html("p", { class: "dim hint" }, "Click an op in the graph.");
    at("content").replaceChildren(made);
    at("content").scrollTop = 0;
  }

  if (data.comparison && data.comparison.layers.length) {
    const [worst] = Model.worst();
    at("strip").hidden = false;
    at("strip").append(
      html("div", { class: "summary" }, html("b", {}, "Accuracy along the network"), html("span", { class: "dim" }, " dB, higher is better"),
        worst && html("button", { class: "link", id: "to-worst", onclick: () => tell.layer(worst) }, `worst layer: ${Text.short(Text.leaf(worst.name), 40)}, ${Text.decibels(worst[data.comparison.judged])} dB`)),
      html("div", { id: "errors" }));
    const draw = () => at("errors").replaceChildren(Plots.strip(data.comparison.layers, data.comparison.judged, at("errors").clientWidth, tell.layer));
    new ResizeObserver(draw).observe(at("strip"));
    draw();
  }

  // --- search

  const search = at("search"), found = at("found");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = words.length ? state.stage.ops.filter((op) => words.every((word) => `${op.op} ${op.name}`.toLowerCase().includes(word))) : [];
    found.replaceChildren(...matches.slice(0, 40).map((op, index) => html("li", {}, html("button", { class: index ? null : "first", onclick: () => pick(op) }, html("b", {}, op.op), ` ${Text.short(op.name, 60)}`))),
      ...(words.length && !matches.length ? [html("li", { class: "dim" }, "nothing of this stage")] : matches.length > 40 ? [html("li", { class: "dim" }, `and ${matches.length - 40} more`)] : []));
    found.hidden = !words.length;
  });
  const pick = (op) => {
    found.hidden = true;
    choose(op);
    main.centre(main.layout.shownIn.get(op));
  };
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && found.querySelector("button")) found.querySelector("button").click();
    if (event.key === "Escape") {
      found.hidden = true;
      search.blur();
    }
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) found.hidden = true; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement.tagName !== "INPUT") {
      search.focus();
      event.preventDefault();
    }
  });

  // --- begin

  const quantized = stages.find((stage) => stage.title === "quantized");
  const refused = data.models.some((model) => model.refusal);
  if (data.comparison && !refused) state.tab = "layers";
  enter(quantized || stages[0]);
  panel();
  document.body.dataset.ready = "true";
})();
