"use strict";
// Pictures of numbers: histograms, one tensor against another, both along their elements, errors along the network.

const Plots = (() => {
  const { svg, html, number } = Text;

  /** Decibels as a colour: red where much is lost, yellow, green where little is. */
  function decibelColour(near) {
    const value = Number(near.sqnr);
    const share = Number.isNaN(value) ? 0 : Math.min(Math.max((value - 5) / 40, 0), 1);
    return `hsl(${Math.round(share * 130)} 72% 46%)`;
  }

  /** Counts on a logarithmic scale, with marks at some numbers. */
  function histogram({ counts, from, to, marks = [], label = "histogram" }) {
    const w = 340, h = 84;
    const tall = counts.map((count) => Math.log1p(count));
    const most = Math.max(...tall, 1);
    const bar = w / counts.length;
    const path = tall.map((each, index) => (each ? `M${(index * bar).toFixed(1)} ${h}v${(-each / most * h).toFixed(1)}h${Math.max(bar - 0.6, 0.6).toFixed(1)}V${h}z` : "")).join("");
    const places = to > from ? marks.map((mark) => (mark - from) / (to - from) * w).filter((place) => place >= -1 && place <= w + 1) : [];
    const zero = from < 0 && to > 0 ? [-from / (to - from) * w] : [];
    return html("figure", { class: "histogram" },
      svg("svg", { viewBox: `0 0 ${w} ${h + 1}`, role: "img", "aria-label": label },
        svg("path", { class: "bars", d: path }),
        zero.map((place) => svg("line", { class: "grid", x1: place, x2: place, y1: 0, y2: h })),
        places.map((place) => svg("line", { class: "end", x1: place, x2: place, y1: 0, y2: h })),
        svg("line", { class: "grid", x1: 0, x2: w, y1: h, y2: h })),
      html("figcaption", {}, html("span", {}, number(from)), html("span", { class: "dim" }, "log counts"), html("span", {}, number(to))));
  }

  function span(...arrays) {
    let low = Infinity, high = -Infinity;
    for (const array of arrays) for (const each of array) if (Number.isFinite(each)) {
      if (each < low) low = each;
      if (each > high) high = each;
    }
    if (!(low < high)) [low, high] = Number.isFinite(low) ? [low - 0.5, low + 0.5] : [0, 1];
    return [low, high];
  }

  /** One tensor's numbers against the other's: on the diagonal they agree. */
  function scatter(wanted, found, names) {
    const s = 300;
    const [low, high] = span(wanted, found);
    const place = (value) => (value - low) / (high - low) * s;
    let path = "";
    for (let index = 0; index < wanted.length; index++) {
      if (Number.isFinite(wanted[index]) && Number.isFinite(found[index])) path += `M${place(wanted[index]).toFixed(1)} ${(s - place(found[index])).toFixed(1)}h0`;
    }
    return html("figure", { class: "scatter" },
      svg("svg", { viewBox: `-4 -4 ${s + 8} ${s + 8}`, role: "img", "aria-label": "values against each other" },
        svg("rect", { class: "frame", width: s, height: s }), svg("line", { class: "diagonal", x1: 0, y1: s, x2: s, y2: 0 }),
        svg("path", { class: "dots", d: path })),
      html("figcaption", {}, html("span", {}, number(low)), html("span", { class: "dim" }, `→ ${names[0]}, ↑ ${names[1]}`), html("span", {}, number(high))));
  }

  /** Both tensors along their elements, and below what is between them. */
  function along(wanted, found, names) {
    const w = 340, h = 110;
    const [low, high] = span(wanted, found);
    const step = Math.max(Math.floor(wanted.length / 340), 1);
    const line = (array, bottom, top) => {
      let path = "";
      for (let index = 0; index < array.length; index += step) if (Number.isFinite(array[index])) {
        path += `${path ? "L" : "M"}${(index / Math.max(array.length - 1, 1) * w).toFixed(1)} ${((1 - (array[index] - bottom) / (top - bottom)) * h).toFixed(1)}`;
      }
      return path;
    };
    const between = Float32Array.from(wanted, (each, index) => found[index] - each);
    const [least, most] = span(between);
    return html("div", {},
      html("figure", {}, svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": "values along the tensor" },
        svg("path", { class: "wanted", d: line(wanted, low, high) }), svg("path", { class: "found", d: line(found, low, high) })),
      html("figcaption", {}, html("span", {}, number(low)), html("span", {}, html("i", { class: "key wanted" }), names[0], " ", html("i", { class: "key found" }), names[1]), html("span", {}, number(high)))),
      html("figure", {}, svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": "difference along the tensor" },
        svg("path", { class: "between", d: line(between, least, most) })),
      html("figcaption", {}, html("span", {}, number(least)), html("span", { class: "dim" }, "difference"), html("span", {}, number(most)))));
  }

  function countsOf(array, low, high, parts = 48) {
    const counts = new Array(parts).fill(0);
    for (const each of array) if (Number.isFinite(each)) counts[Math.min(Math.max(Math.floor((each - low) / (high - low) * parts), 0), parts - 1)]++;
    return counts;
  }

  /** The two distributions, one over the other. */
  function distributions(wanted, found, names) {
    const w = 340, h = 90, parts = 48;
    const [low, high] = span(wanted, found);
    const both = [wanted, found].map((array) => countsOf(array, low, high, parts).map((count) => Math.log1p(count)));
    const most = Math.max(...both.flat(), 1);
    const outline = (tall) => `M0 ${h}${tall.map((each, index) => `L${(index / parts * w).toFixed(1)} ${(h - each / most * h).toFixed(1)}H${((index + 1) / parts * w).toFixed(1)}`).join("")}V${h}`;
    return html("figure", {}, svg("svg", { viewBox: `0 0 ${w} ${h + 1}`, role: "img", "aria-label": "distributions" },
      svg("path", { class: "wanted area", d: outline(both[0]) }), svg("path", { class: "found", d: outline(both[1]) })),
    html("figcaption", {}, html("span", {}, number(low)), html("span", {}, html("i", { class: "key wanted" }), names[0], " ", html("i", { class: "key found" }), names[1]), html("span", {}, number(high))));
  }

  /** Errors along the network: a point for each layer, which tells when it is clicked. */
  function strip(layers, judged, width, tell) {
    const h = 74, top = 60, w = Math.max(width - 44, 100);
    const x = (index) => (index + 0.5) / layers.length * w;
    const y = (near) => {
      const value = Number(near.sqnr);
      return (1 - Math.min(Math.max(Number.isNaN(value) ? 0 : value, 0), top) / top) * h;
    };
    const all = layers.map((layer, index) => `${index ? "L" : "M"}${x(index).toFixed(1)} ${y(layer.accumulated).toFixed(1)}`).join("");
    return svg("svg", { viewBox: `-34 -8 ${w + 44} ${h + 16}`, role: "img", "aria-label": "decibels of each layer" },
      [0, 20, 40, 60].map((level) => [
        svg("line", { class: "grid", x1: 0, x2: w, y1: (1 - level / top) * h, y2: (1 - level / top) * h }),
        svg("text", { x: -6, y: (1 - level / top) * h + 4, "text-anchor": "end" }, level)]),
      svg("path", { class: "all", d: all }),
      layers.map((layer, index) => {
        const near = layer[judged];
        const point = svg("g", { class: "point", "data-layer": index },
          svg("rect", { class: "hit", x: x(index) - Math.max(w / layers.length / 2, 2), width: Math.max(w / layers.length, 4), y: -6, height: h + 12 }),
          near && svg("line", { x1: x(index), x2: x(index), y1: y(near), y2: h, stroke: decibelColour(near) }),
          near && svg("circle", { cx: x(index), cy: y(near), r: layers.length > 300 ? 1.8 : 3.2, fill: decibelColour(near) }),
          svg("title", {}, `${layer.name} (${layer.op})\nown ${Text.decibels(layer.own)} dB, accumulated ${Text.decibels(layer.accumulated)} dB`));
        point.addEventListener("click", () => tell(layer));
        return point;
      }));
  }

  return { histogram, scatter, along, distributions, strip, decibelColour };
})();
