"use strict";
// Making elements, and writing numbers. Texts go into text nodes: nothing that comes from a model is ever read as HTML.

const Text = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? "" : String(value));
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false).map(
      (child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
    return node;
  }

  const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  /** A number in a few letters. */
  function number(value) {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e9) return value.toLocaleString("en");
    const size = Math.abs(value);
    return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  }

  function bytes(size) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let place = 0;
    for (; size >= 1000 && place < units.length - 1; place++) size /= 1000;
    return `${place && size < 100 ? size.toFixed(1) : Math.round(size)} ${units[place]}`;
  }

  /** Decibels of what JSON has as a number or as "Infinity". */
  function decibels(near) {
    if (!near) return "–";
    const value = Number(near.sqnr);
    return value === Infinity ? "exact" : Number.isNaN(value) ? "NaN" : value.toFixed(1);
  }

  const short = (text, most) => (text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}`);

  /** The last part of a name, which says most. */
  const leaf = (name) => name.split(";")[0].replace(/\/+$/, "").split("/").pop() || name;

  /** The end of a name, from where a part of it begins. */
  function tail(name, most) {
    const parts = name.split(";")[0].split("/");
    let text = parts.pop() || name;
    while (parts.length && text.length + parts[parts.length - 1].length < most) text = `${parts.pop()}/${text}`;
    return short(text, most);
  }

  return { html, svg, number, bytes, decibels, short, leaf, tail };
})();
