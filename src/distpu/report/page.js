"use strict";
(function () {
  const data = JSON.parse(document.getElementById("curve-data").textContent);
  const slider = document.getElementById("rows");
  if (!slider || !data.points.length) return;
  const count = (value) => Math.round(value).toLocaleString("en-US");
  const percent = (value) => {
    const p = 100 * value;
    return (p < 10 || (p > 90 && p < 100) ? p.toFixed(1) : p.toFixed(0)) + " %";
  };
  const put = (id, text) => { document.getElementById(id).textContent = text; };
  const move = (id, names) => {
    const shape = document.getElementById(id);
    for (const name in names) shape.setAttribute(name, names[name]);
  };
  const give = (value, error) => percent(value) + (error > 0 ? " ± " + percent(error) : "");
  function show() {
    const p = data.points[Number(slider.value)];
    const right = p.precision * p.rows;
    put("say-rows", count(p.rows) + " " + (p.rows === 1 ? data.what.slice(0, -1) : data.what));
    put("say-probability", p.probability.toFixed(p.probability < 0.01 ? 4 : 2));
    put("say-right", count(right));
    put("say-precision", give(p.precision, p.precision_error));
    put("say-recall", give(p.recall, p.recall_error));
    put("say-wrong", count(p.rows - right));
    slider.setAttribute("aria-valuetext", count(p.rows) + " " + data.what);
    const at = data.left + (data.right - data.left) * Math.min(1, p.rows / data.most);
    move("mark-cut", { x1: at, x2: at });
    const y = (value) => data.bottom - (data.bottom - data.top) * value;
    move("dot-precision", { cx: at, cy: y(p.precision) });
    move("dot-recall", { cx: at, cy: y(p.recall) });
  }
  slider.addEventListener("input", show);
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  show();
})();
