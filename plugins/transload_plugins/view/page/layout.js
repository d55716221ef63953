"use strict";
// Where ops and groups lie. Groups follow names; what is long is cut where few tensors cross, and each piece is laid out by dagre,
// so that the time grows with the number of ops and not with its square.

const Layout = (() => {
  const HEIGHT = 54, PAD = 14, HEAD = 26, PIECE = 24, GAP = 26;
  const MANY = 90;   // children from which on a group is cut into parts of its own
  const PART = 30;   // ops of such a part, about
  const SHOWN = 140; // boxes that are shown at first

  /** The tree of groups of a stage: `{key, name, children, ops, parent}`; leaves are ops. */
  function tree(stage) {
    const root = { key: "", name: "", children: [], parent: null, group: true, ops: 0 };
    const groups = new Map([["", root]]);
    for (const op of stage.ops) {
      let place = root, key = "";
      for (const part of op.group) {
        key += `/${part}`;
        let next = groups.get(key);
        if (!next) {
          next = { key, name: part, children: [], parent: place, group: true, ops: 0 };
          groups.set(key, next);
          place.children.push(next);
        }
        place = next;
      }
      place.children.push({ key: `op${op.index}`, op, parent: place, group: false });
    }
    joined(root);
    numbered(root);
    cut(root, stage);
    counted(root);
    return root;
  }

  /** Put a group with one child in that child's place. */
  function joined(group) {
    group.children = group.children.map((child) => {
      if (!child.group) return child;
      joined(child);
      if (child.children.length > 1) return child;
      const [only] = child.children;
      if (only.group) only.name = `${child.name}/${only.name}`;
      only.parent = group;
      return only;
    });
  }

  /** Note the first op of each, which is its place in the order of the network. */
  function numbered(node) {
    node.order = node.group ? Math.min(...node.children.map(numbered)) : node.op.index;
    return node.order;
  }

  /** Cut groups with very many children into parts, where few tensors cross. */
  function cut(group, stage) {
    for (const child of group.children) if (child.group) cut(child, stage);
    if (group.children.length <= MANY) return;
    group.children.sort((one, other) => one.order - other.order);
    const holds = new Map();
    group.children.forEach((child, index) => leaves(child, (op) => holds.set(op, index)));
    const links = stage.edges.filter((edge) => holds.has(edge.source) && holds.has(edge.target))
      .map((edge) => [holds.get(edge.source), holds.get(edge.target)]);
    const ends = borders(group.children.length, links, PART);
    let start = 0;
    group.children = ends.map((end, number) => {
      const children = group.children.slice(start, end);
      const first = start + 1;
      start = end;
      const part = { key: `${group.key}//${number}`, name: `part ${number + 1}: ${first} – ${end}`, children, parent: group, group: true,
        order: children[0].order, ops: 0, made: true };
      for (const child of children) child.parent = part;
      return part;
    });
  }

  function leaves(node, tell) {
    if (node.group) for (const child of node.children) leaves(child, tell);
    else tell(node.op);
  }

  function counted(node) {
    node.ops = node.group ? node.children.reduce((sum, child) => sum + counted(child), 0) : 1;
    return node.ops;
  }

  /** Where to cut a row of `count` things into pieces of about `size`: behind those where the fewest links cross. */
  function borders(count, links, size) {
    const crossing = new Int32Array(count + 1);
    for (const [one, other] of links) {
      const [low, high] = one < other ? [one, other] : [other, one];
      crossing[low + 1]++;
      crossing[high + 1]--;
    }
    for (let place = 1; place <= count; place++) crossing[place] += crossing[place - 1];
    const ends = [];
    let start = 0;
    while (count - start > size * 1.4) {
      let best = start + size;
      for (let place = start + Math.ceil(size / 2); place <= Math.min(start + Math.floor(size * 1.4), count - 1); place++) {
        if (crossing[place] < crossing[best] || (crossing[place] === crossing[best] && Math.abs(place - start - size) < Math.abs(best - start - size))) best = place;
      }
      ends.push(best);
      start = best;
    }
    ends.push(count);
    return ends;
  }

  /** The groups that are open at first: level by level, as long as that is not too much to look at. */
  function opened(root) {
    const open = new Set([""]);
    let level = root.children.filter((node) => node.group), shown = root.children.length;
    while (level.length) {
      const more = level.reduce((sum, node) => sum + node.children.length, 0);
      if (shown + more > SHOWN) break;
      for (const node of level) open.add(node.key);
      shown += more;
      level = level.flatMap((node) => node.children.filter((child) => child.group));
    }
    return open;
  }

  const width = (text, least, most) => Math.min(Math.max(text.length * 7.6 + 30, least), most);

  /** Boxes and lines of a stage with these groups open, all in the coordinates of the whole. */
  function placed(stage, root, open) {
    const shownIn = new Map(); // of each op the box that shows it
    const rows = new Map();    // of each open group its boxes
    const visit = (group) => {
      const boxes = group.children.slice().sort((one, other) => one.order - other.order).map((node) => boxOf(node, open));
      rows.set(group, boxes);
      for (const box of boxes) {
        if (box.open) visit(box.node);
        else leaves(box.node, (op) => shownIn.set(op, box));
      }
    };
    visit(root);
    const boxOfNode = new Map([...rows.values()].flat().map((box) => [box.node, box]));
    const io = ends(stage, rows.get(root));
    const lines = linked(stage, shownIn, boxOfNode, io, root);
    const size = arrange(root, rows, lines);
    const boxes = [];
    move(root, rows, 0, 0, boxes, lines);
    return { boxes, lines: [...lines.values()].flat(), size, shownIn };
  }

  function boxOf(node, open) {
    if (!node.group) {
      const kind = node.op.op.slice(node.op.op.indexOf(".") + 1);
      const label = Text.tail(node.op.name || "", 28);
      const shape = node.op.out.length ? Text.short(node.op.stage.types[node.op.stage.values[node.op.out[0]].type].split(",")[0], 28) : "";
      const long = [`${kind}      `, label, shape].reduce((one, other) => (other.length > one.length ? other : one));
      return { node, op: node.op, title: kind, label, shape, w: width(long, 100, 240), h: HEIGHT };
    }
    if (open.has(node.key)) return { node, open: true, title: node.name };
    const label = `${node.ops} ops`;
    return { node, title: Text.short(node.name, 30), label, w: width(Text.short(node.name, 30), 110, 250), h: 44 };
  }

  /** Boxes of what the network takes and gives, at the ends of the outermost row. */
  function ends(stage, row) {
    const made = { in: new Map(), out: [] };
    const box = (value, kind) => {
      const name = stage.values[value].name || kind;
      return { node: { key: `${kind}${value}`, order: 0 }, io: kind, value, title: Text.tail(name, 26), label: kind, w: width(Text.tail(name, 26), 80, 240), h: 34 };
    };
    for (const value of stage.inputs) {
      const one = box(value, "input");
      made.in.set(value, one);
      row.unshift(one);
    }
    stage.outputs.forEach((value) => {
      const one = box(value, "output");
      made.out.push(one);
      row.push(one);
    });
    return made;
  }

  /** The lines between boxes, by the group in which both ends lie. */
  function linked(stage, shownIn, boxOfNode, io, root) {
    const lines = new Map(), seen = new Map();
    const add = (group, from, to, edge) => {
      const key = `${from.node.key}>${to.node.key}`;
      const known = seen.get(group) || seen.set(group, new Map()).get(group);
      if (known.has(key)) {
        known.get(key).edges.push(edge);
        return;
      }
      const line = { from, to, edges: [edge] };
      known.set(key, line);
      (lines.get(group) || lines.set(group, []).get(group)).push(line);
    };
    const chain = (box) => {
      const all = [];
      for (let node = box.node; node; node = node.parent) all.unshift(node);
      return all;
    };
    for (const edge of stage.edges) {
      const to = shownIn.get(edge.target);
      const from = edge.source === null ? io.in.get(edge.value) : shownIn.get(edge.source);
      if (!to || !from || from === to) continue;
      if (from.io) {
        add(root, from, boxOfNode.get(chain(to)[1]), edge);
        continue;
      }
      const one = chain(from), other = chain(to);
      let depth = 0;
      while (one[depth] === other[depth]) depth++;
      add(one[depth - 1], boxOfNode.get(one[depth]), boxOfNode.get(other[depth]), edge);
    }
    for (const end of io.out) {
      const { by } = stage.values[end.value];
      const from = by === undefined ? io.in.get(end.value) : shownIn.get(stage.ops[by]);
      if (from) add(root, from.io ? from : boxOfNode.get(chain(from)[1]), end, { source: by === undefined ? null : stage.ops[by], target: null, value: end.value });
    }
    return lines;
  }

  /** Give the boxes of a group their places in it, those inside first; the group's size. */
  function arrange(group, rows, lines) {
    const boxes = rows.get(group);
    for (const box of boxes) {
      if (!box.open) continue;
      const inner = arrange(box.node, rows, lines);
      box.w = Math.max(inner.w + 2 * PAD, width(box.title, 110, 400));
      box.inset = (box.w - inner.w) / 2;
      box.h = inner.h + HEAD + PAD;
    }
    const mine = lines.get(group) || [];
    const number = new Map(boxes.map((box, index) => [box, index]));
    const limits = borders(boxes.length, mine.map((line) => [number.get(line.from), number.get(line.to)]), PIECE);
    let start = 0, top = 0;
    for (const end of limits) {
      const piece = boxes.slice(start, end);
      const held = new Set(piece);
      const inner = mine.filter((line) => held.has(line.from) && held.has(line.to));
      const size = stacked(piece, inner) || drawn(piece, inner);
      const shift = start ? aligned(piece, held, mine) : 0;
      for (const box of piece) {
        box.x += shift;
        box.y += top;
      }
      for (const line of inner) for (const point of line.points || []) {
        point.x += shift;
        point.y += top;
      }
      top += size.h + GAP;
      start = end;
    }
    const left = Math.min(...boxes.map((box) => box.x)), right = Math.max(...boxes.map((box) => box.x + box.w));
    for (const box of boxes) box.x -= left;
    for (const line of mine) for (const point of line.points || []) point.x -= left;
    return { w: right - left, h: top - GAP };
  }

  /** How far to the right a piece goes, so that a line into it from above is straight. */
  function aligned(piece, held, lines) {
    const line = lines.find((each) => held.has(each.to) && !held.has(each.from) && each.from.x !== undefined);
    return line ? line.from.x + line.from.w / 2 - (line.to.x + line.to.w / 2) : 0;
  }

  /** Boxes in a row one below the other, where each is linked to the next alone; null where they are not. */
  function stacked(boxes, lines) {
    if (lines.length !== boxes.length - 1 || lines.some((line) => boxes.indexOf(line.to) !== boxes.indexOf(line.from) + 1)) return null;
    const w = Math.max(...boxes.map((box) => box.w));
    let y = 0;
    for (const box of boxes) {
      box.x = (w - box.w) / 2;
      box.y = y;
      y += box.h + GAP;
    }
    return { w, h: y - GAP };
  }

  function drawn(boxes, lines) {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ nodesep: 18, ranksep: GAP, edgesep: 12 });
    boxes.forEach((box, index) => graph.setNode(String(index), { width: box.w, height: box.h }));
    const number = new Map(boxes.map((box, index) => [box, String(index)]));
    for (const line of lines) graph.setEdge(number.get(line.from), number.get(line.to), {});
    dagre.layout(graph);
    boxes.forEach((box, index) => {
      const node = graph.node(String(index));
      box.x = node.x - box.w / 2;
      box.y = node.y - box.h / 2;
    });
    for (const line of lines) line.points = graph.edge(number.get(line.from), number.get(line.to)).points;
    return { w: graph.graph().width, h: graph.graph().height };
  }

  /** Turn places inside groups into places in the whole. */
  function move(group, rows, x, y, boxes, lines) {
    for (const line of lines.get(group) || []) for (const point of line.points || []) {
      point.x += x;
      point.y += y;
    }
    for (const box of rows.get(group)) {
      box.x += x;
      box.y += y;
      boxes.push(box);
      if (box.open) move(box.node, rows, box.x + box.inset, box.y + HEAD, boxes, lines);
    }
  }

  return { tree, opened, placed, leaves };
})();
