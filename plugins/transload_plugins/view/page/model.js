"use strict";
// What the page was given: stages with their ops and edges, what became of what, errors and costs by tensor.

const Model = (() => {
  let data = null;
  const stages = [];

  /** Unpack the document's data. */
  async function open() {
    const text = document.getElementById("data").textContent.trim();
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    data = JSON.parse(await new Response(stream).text());
    for (const [number, model] of data.models.entries()) {
      model.first = stages.length;
      for (const stage of model.stages) {
        stages.push(indexed(stage, model, number));
      }
    }
    return data;
  }

  /** Give a stage its edges, and what it came from. */
  function indexed(stage, model, number) {
    const { ops, values, types, inputs, outputs } = stage.graph;
    const place = stages.length;
    const made = { ...stage, place, model, number, ops, values, types, inputs, outputs, named: new Map() };
    ops.forEach((op, index) => {
      Object.assign(op, { index, stage: made, before: [], after: [], from: [], rules: [], into: [] });
      const names = op.out.map((each) => values[each].name).filter(Boolean);
      for (const name of names.length ? names : [op.name]) {
        if (name && !made.named.has(name)) made.named.set(name, op);
      }
    });
    made.edges = [];
    for (const op of ops) {
      const seen = new Set();
      for (const taken of op.in) {
        const value = values[taken];
        if (value.constant !== undefined) continue;
        if (value.by === undefined) {
          if (!seen.has(taken) && inputs.includes(taken)) made.edges.push({ source: null, target: op, value: taken });
        } else {
          made.edges.push({ source: ops[value.by], target: op, value: taken });
          if (!seen.has(taken)) {
            ops[value.by].after.push(op);
            op.before.push(ops[value.by]);
          }
        }
        seen.add(taken);
      }
    }
    const previous = place > model.first ? stages[place - 1] : null;
    for (const [index, from, rules] of stage.lineage) {
      ops[index].rules = rules;
      if (previous === null) continue;
      for (const each of from) {
        ops[index].from.push(previous.ops[each]);
        previous.ops[each].into.push(ops[index]);
      }
    }
    return made;
  }

  /** The ops of each stage of a model that an op came from or became, by place of the stage. */
  function journey(op) {
    const rows = new Map([[op.stage.place, [op]]]);
    for (const direction of ["from", "into"]) {
      let now = [op];
      while (now.length) {
        now = [...new Set(now.flatMap((each) => each[direction]))];
        if (now.length) rows.set(now[0].stage.place, now);
      }
    }
    return new Map([...rows].sort((one, other) => one[0] - other[0]));
  }

  /** What of a table by names an op has: by its own name, or by that of what it became or came from. */
  function byName(op, table) {
    const own = direct(op, table);
    if (own !== undefined) return own;
    for (const direction of ["into", "from"]) {
      let now = [op];
      while ((now = [...new Set(now.flatMap((each) => each[direction]))]).length) {
        for (const each of now) {
          const found = direct(each, table);
          if (found !== undefined) return found;
        }
      }
    }
    return undefined;
  }

  function direct(op, table) {
    for (const each of op.out) {
      const name = op.stage.values[each].name;
      if (name && table.has(name)) return table.get(name);
    }
    return op.name ? table.get(op.name) : undefined;
  }

  let layers = null;
  function layerTable() {
    if (layers === null) {
      layers = new Map();
      for (const layer of (data.comparison && data.comparison.layers) || []) if (!layers.has(layer.name)) layers.set(layer.name, layer);
    }
    return layers;
  }

  /** The compared layer that an op computes, where it does. */
  function layer(op) {
    if (op.layer === undefined) op.layer = (layerTable().size && byName(op, layerTable())) || null;
    return op.layer;
  }

  const tables = new Map();
  /** What the target reports of an op, where it does. */
  function cost(op) {
    if (op.cost === undefined) {
      const { model } = op.stage;
      if (!tables.has(model)) tables.set(model, new Map(Object.entries(model.costs)));
      op.cost = (tables.get(model).size && byName(op, tables.get(model))) || null;
    }
    return op.cost;
  }

  /** The bytes that an op gives. */
  const bytesOf = (op) => op.out.reduce((sum, each) => sum + (op.stage.values[each].bytes || 0), 0);

  /** Float32 numbers out of base64. */
  function numbers(text) {
    const raw = Uint8Array.from(atob(text || ""), (letter) => letter.charCodeAt(0));
    return new Float32Array(raw.buffer, 0, raw.length >> 2);
  }

  /** Layers, those first that lose most by themselves; of a comparison by names alone, in all. */
  function worst() {
    const { judged, layers: all } = data.comparison;
    return all.filter((each) => each[judged]).sort((one, other) => order(one[judged]) - order(other[judged]));
  }

  const order = (near) => (Number.isNaN(Number(near.sqnr)) ? -Infinity : Number(near.sqnr));

  /** The op of a stage that computes a layer. */
  function opOf(stage, layerWanted) {
    return stage.named.get(layerWanted.name) || stage.ops.find((op) => layer(op) === layerWanted) || null;
  }

  return { open, stages, journey, layer, cost, bytesOf, numbers, worst, opOf, get data() { return data; } };
})();
