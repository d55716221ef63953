"use strict";
// The drawing of one stage: boxes and lines, moved and enlarged with mouse, fingers and keys. Of very many boxes those are in the
// document that can be seen.

class Canvas {
  static ALWAYS = 500;  // boxes that are in the document wherever they are
  static LEGIBLE = 0.22; // the scale from which on texts can be read: below it very many boxes have none

  constructor(place, tell) {
    this.tell = tell;
    this.view = { x: 0, y: 0, scale: 1 };
    this.open = new Map();
    this.colour = () => null;
    this.selected = null;
    this.pointers = new Map();
    this.lines = Text.svg("g", { class: "lines" });
    this.boxes = Text.svg("g", { class: "boxes" });
    this.world = Text.svg("g", {}, this.lines, this.boxes);
    this.svg = Text.svg("svg", { class: "graph", tabindex: 0, role: "application", "aria-label": "graph" },
      Text.svg("defs", {}, Text.svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        Text.svg("path", { d: "M0 1L7 4L0 7z" }))), this.world);
    this.heading = Text.html("div", { class: "heading" });
    const button = (label, title, act) => Text.html("button", { title, "aria-label": title, onclick: act }, label);
    this.buttons = Text.html("div", { class: "zoom" },
      button("+", "enlarge", () => this.zoom(1.3)), button("−", "reduce", () => this.zoom(1 / 1.3)),
      button("⤢", "show all", () => this.fit(true)), button("▣", "open all groups", () => this.openAll(true)),
      button("▢", "close all groups", () => this.openAll(false)));
    this.element = Text.html("div", { class: "pane" }, this.heading, this.svg, this.buttons);
    place.append(this.element);
    this.listen();
    new ResizeObserver(() => this.seen()).observe(this.element);
  }

  /** Show a stage, its groups as they were left. */
  show(stage) {
    this.stage = stage;
    this.tree = stage.tree || (stage.tree = Layout.tree(stage));
    if (!this.open.has(stage)) this.open.set(stage, Layout.opened(this.tree));
    this.heading.replaceChildren(Text.html("b", {}, stage.dialect), ` ${stage.title} · ${stage.ops.length.toLocaleString("en")} ops`);
    this.arrange();
    this.fit();
  }

  /** Lay out anew, with what is in the middle staying there. */
  arrange(anchor) {
    const old = anchor && this.layout ? this.layout.boxes.find((box) => box.node === anchor) : null;
    this.layout = Layout.placed(this.stage, this.tree, this.open.get(this.stage));
    this.drawn = new Map();
    this.boxes.replaceChildren();
    this.lines.replaceChildren();
    const now = old ? this.layout.boxes.find((box) => box.node === anchor) : null;
    if (now) {
      this.view.x += (old.x - now.x) * this.view.scale;
      this.view.y += (old.y - now.y) * this.view.scale;
    }
    this.seen();
  }

  openAll(all) {
    const open = new Set([""]);
    const visit = (node) => {
      if (!node.group) return;
      open.add(node.key);
      node.children.forEach(visit);
    };
    if (all) visit(this.tree);
    this.open.set(this.stage, open);
    this.arrange();
    this.fit();
  }

  toggle(node) {
    const open = this.open.get(this.stage);
    if (!open.delete(node.key)) open.add(node.key);
    this.arrange(node);
    this.mark();
  }

  /** Select an op, open the groups it lies in, and move to it where it is out of sight. */
  select(op, { move = true } = {}) {
    this.selected = op;
    if (op) {
      const open = this.open.get(this.stage);
      let path = null;
      const find = (node) => {
        if (!node.group) return node.op === op;
        if (!node.children.some(find)) return false;
        if (!open.has(node.key)) path = (path || []).concat(node.key);
        return true;
      };
      find(this.tree);
      if (path) {
        path.forEach((key) => open.add(key));
        this.arrange();
      }
      if (move) this.centre(this.layout.shownIn.get(op));
    }
    this.mark();
  }

  centre(box) {
    if (!box) return;
    const { clientWidth: w, clientHeight: h } = this.svg;
    const scale = Math.max(this.view.scale, 0.8);
    this.view = { scale, x: w / 2 - (box.x + box.w / 2) * scale, y: h / 2 - (box.y + box.h / 2) * scale };
    this.seen();
  }

  /** Show from the top on, as large as can be read; or all, however small. */
  fit(all = false) {
    const { clientWidth: w, clientHeight: h } = this.svg;
    const { w: wide, h: high } = this.layout.size;
    const whole = Math.min((w - 40) / wide, (h - 70) / high);
    const scale = all ? Math.min(whole, 1.1) : Math.min(Math.max(whole, 0.55), 1.1, Math.max((w - 40) / wide, 0.25));
    this.view = { scale, x: (w - wide * scale) / 2, y: whole * 1.01 >= scale ? (h - high * scale) / 2 + 14 : 48 };
    this.seen();
  }

  zoom(factor, at) {
    const { clientWidth: w, clientHeight: h } = this.svg;
    const place = at || { x: w / 2, y: h / 2 };
    const scale = Math.min(Math.max(this.view.scale * factor, 0.02), 4);
    const by = scale / this.view.scale;
    this.view = { scale, x: place.x - (place.x - this.view.x) * by, y: place.y - (place.y - this.view.y) * by };
    this.seen();
  }

  /** Paint boxes anew, after what colours mean has changed. */
  recolour(colour) {
    this.colour = colour;
    this.drawn = new Map();
    this.boxes.replaceChildren();
    this.seen();
  }

  /** Put into the document what can be seen. */
  seen() {
    if (!this.layout) return;
    const { x, y, scale } = this.view;
    this.world.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`);
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  draw() {
    const all = this.layout.boxes.length <= Canvas.ALWAYS;
    const { x, y, scale } = this.view;
    const coarse = !all && scale < Canvas.LEGIBLE;
    if (coarse !== this.coarse) {
      this.coarse = coarse;
      this.drawn = new Map();
      this.boxes.replaceChildren();
      this.lines.replaceChildren();
    }
    const margin = 300;
    const left = -x / scale - margin, top = -y / scale - margin;
    const right = left + this.svg.clientWidth / scale + 2 * margin, bottom = top + this.svg.clientHeight / scale + 2 * margin;
    const visible = (box) => all || (box.x < right && box.x + box.w > left && box.y < bottom && box.y + box.h > top);
    for (const [thing, element] of this.drawn) {
      const stays = thing.from ? visible(thing.from) || visible(thing.to) : visible(thing);
      if (!stays) {
        element.remove();
        this.drawn.delete(thing);
      }
    }
    for (const box of this.layout.boxes) if (!this.drawn.has(box) && visible(box)) this.drawn.set(box, this.boxes.appendChild(this.box(box)));
    for (const line of this.layout.lines) {
      if (!this.drawn.has(line) && (visible(line.from) || visible(line.to))) this.drawn.set(line, this.lines.appendChild(this.line(line)));
    }
    this.mark();
  }

  box(box) {
    const kind = box.io ? "io" : box.open ? "group open" : box.op ? "op" : "group";
    const colour = box.io ? null : this.colour(box);
    if (this.coarse) {
      const plain = Text.svg("rect", { class: `plain ${kind}`, x: box.x.toFixed(0), y: box.y.toFixed(0), width: box.w.toFixed(0), height: box.h.toFixed(0) });
      if (colour && !box.open) plain.style.fill = colour.fill;
      if (box.op) plain.addEventListener("click", () => { if (!this.moved) this.tell.op(box.op); });
      return plain;
    }
    const group = Text.svg("g", { class: kind, transform: `translate(${box.x.toFixed(1)} ${box.y.toFixed(1)})`, tabindex: box.open ? null : -1 },
      Text.svg("title", {}, this.hint(box)),
      Text.svg("rect", { width: box.w.toFixed(1), height: box.h.toFixed(1), rx: box.io ? 16 : 6 }));
    if (colour && !box.open) group.append(Text.svg("rect", { class: "colour", width: 6, height: box.h - 8, x: 4, y: 4, rx: 3, fill: colour.fill }));
    if (colour && colour.strong && !box.open) group.querySelector("rect").style.fill = colour.strong;
    if (box.open) {
      group.append(Text.svg("rect", { class: "head", width: box.w.toFixed(1), height: 24, rx: 6 }),
        Text.svg("text", { x: 10, y: 16, class: "name" }, `▾ ${Text.short(box.title, Math.max(Math.floor(box.w / 7.5) - 3, 6))}`));
    } else {
      group.append(
        Text.svg("text", { x: 16, y: box.io ? 15 : 18, class: "kind" }, (box.node.group ? "▸ " : "") + box.title),
        Text.svg("text", { x: 16, y: box.io ? 27 : 33, class: "name" }, box.label),
        box.shape ? Text.svg("text", { x: 16, y: 47, class: "shape" }, box.shape) : "");
      if (colour && colour.text) group.append(Text.svg("text", { x: box.w - 8, y: 18, class: "value", "text-anchor": "end" }, colour.text));
    }
    group.addEventListener("click", (event) => {
      event.stopPropagation();
      if (this.moved) return;
      if (box.op) this.tell.op(box.op);
      else if (box.node.group) this.toggle(box.node);
      else this.tell.value(this.stage, box.value);
    });
    if (box.op) group.dataset.op = box.op.index;
    if (box.node.group) group.dataset.group = box.node.key;
    return group;
  }

  hint(box) {
    if (box.op) {
      const out = box.op.out.map((each) => this.stage.types[this.stage.values[each].type]).join("\n");
      return `${box.op.op}\n${box.op.name}\n${out}`;
    }
    return box.io ? `${box.label}: ${box.title}` : `${box.node.name}: ${box.node.ops} ops`;
  }

  line(line) {
    if (this.coarse) return Text.svg("path", { class: "plain", d: this.path(line) });
    const path = Text.svg("path", { d: this.path(line), "marker-end": "url(#tip)" });
    const edge = line.edges[0];
    const type = this.stage.types[this.stage.values[edge.value].type];
    const more = line.edges.length > 1 ? `\nand ${line.edges.length - 1} more` : "";
    const group = Text.svg("g", { class: "line" }, path, Text.svg("path", { class: "wide", d: path.getAttribute("d") }),
      Text.svg("title", {}, `${this.stage.values[edge.value].name || "tensor"}\n${type}${more}`));
    group.addEventListener("click", () => {
      if (!this.moved && edge.source) this.tell.op(edge.source);
    });
    return group;
  }

  path({ from, to, points }) {
    const start = { x: from.x + from.w / 2, y: from.y + from.h }, end = { x: to.x + to.w / 2, y: to.y };
    const f = (number) => number.toFixed(1);
    if (points && points.length > 2) {
      const inner = points.slice(1, -1);
      let text = `M${f(start.x)} ${f(start.y)}`;
      let last = start;
      for (const point of [...inner, end]) {
        const middle = (last.y + point.y) / 2;
        text += `C${f(last.x)} ${f(middle)} ${f(point.x)} ${f(middle)} ${f(point.x)} ${f(point.y)}`;
        last = point;
      }
      return text;
    }
    const far = end.y - start.y;
    if (far < 0 || far > 220) { // past other boxes: around them on the right
      const out = Math.max(from.x + from.w, to.x + to.w) + Math.min(30 + Math.abs(far) / 12, 160);
      return `M${f(start.x)} ${f(start.y)}C${f(start.x)} ${f(start.y + 40)} ${f(out)} ${f(start.y + 20)} ${f(out)} ${f(start.y + Math.min(80, Math.abs(far) / 3))}`
        + `L${f(out)} ${f(end.y - Math.min(80, Math.abs(far) / 3))}C${f(out)} ${f(end.y - 20)} ${f(end.x)} ${f(end.y - 40)} ${f(end.x)} ${f(end.y)}`;
    }
    const middle = (start.y + end.y) / 2;
    return `M${f(start.x)} ${f(start.y)}C${f(start.x)} ${f(middle)} ${f(end.x)} ${f(middle)} ${f(end.x)} ${f(end.y)}`;
  }

  /** Show which box is selected, and the lines at it. */
  mark() {
    for (const element of this.svg.querySelectorAll(".selected, .near")) element.classList.remove("selected", "near");
    const box = this.selected && this.layout.shownIn.get(this.selected);
    if (!box) return;
    if (this.drawn.has(box)) this.drawn.get(box).classList.add("selected");
    for (const [line, element] of this.drawn) if (line.from === box || line.to === box) element.classList.add("near");
  }

  listen() {
    const { svg } = this;
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { left, top } = svg.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey || Math.abs(event.deltaY) >= 50 || event.deltaMode) {
        this.zoom(Math.exp(-Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 120) / 500), { x: event.clientX - left, y: event.clientY - top });
      } else {
        this.view.x -= event.deltaX;
        this.view.y -= event.deltaY;
        this.seen();
      }
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      this.moved = false;
    });
    svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) svg.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    svg.addEventListener("click", () => { if (!this.moved) svg.focus(); });
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  drag(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const now = { x: event.clientX, y: event.clientY };
    if (!this.moved && Math.hypot(now.x - last.x, now.y - last.y) < 4) return;
    if (!this.moved) this.svg.setPointerCapture(event.pointerId);
    this.moved = true;
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    if (others.length) {
      const [, other] = others[0];
      const { left, top } = this.svg.getBoundingClientRect();
      const by = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(Math.hypot(last.x - other.x, last.y - other.y), 1);
      this.zoom(by, { x: other.x - left, y: other.y - top });
    } else {
      this.view.x += now.x - last.x;
      this.view.y += now.y - last.y;
      this.seen();
    }
    this.pointers.set(event.pointerId, now);
  }

  key(event) {
    const step = { ArrowUp: ["before"], ArrowDown: ["after"] }[event.key];
    if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.3 : 1 / 1.3);
    else if (event.key === "0") this.fit();
    else if (step && this.selected) {
      const [next] = this.selected[step[0]];
      if (next) this.tell.op(next);
    } else return;
    event.preventDefault();
  }
}
