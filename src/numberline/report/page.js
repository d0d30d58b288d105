"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const drawn = new Set();

  // A computed colour: custom properties keep light-dark() as it is written.
  const probe = document.createElement("span");
  const resolved = (name) => {
    probe.style.color = `var(${name})`;
    root.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };

  const dress = () => {
    const ink = resolved("--ink"), line = resolved("--line"), paper = resolved("--paper");
    const axis = { color: ink, gridcolor: line, linecolor: line };
    return { ink, paper, axis };
  };

  const themed = (layout) => {
    const { ink, paper, axis } = dress();
    const found = { margin: { l: 60, r: 10, t: 30, b: 60 }, ...layout };
    Object.assign(found, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: "system-ui, sans-serif", size: 13, color: ink },
      hoverlabel: { bgcolor: paper, bordercolor: ink, font: { color: ink, size: 13 }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: resolved("--quiet"), activecolor: resolved("--accent") },
    });
    if (layout.scene) {
      const scene = { ...layout.scene, bgcolor: "rgba(0,0,0,0)" };
      for (const name of ["xaxis", "yaxis", "zaxis"]) scene[name] = { ...scene[name], ...axis, backgroundcolor: "rgba(0,0,0,0)" };
      found.scene = scene;
    } else {
      for (const name of ["xaxis", "yaxis"]) found[name] = { ...layout[name], ...axis };
    }
    return found;
  };

  const webgl = () => {
    const context = document.createElement("canvas").getContext("webgl");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return Boolean(context);
  };

  const draw = (box) => {
    const content = JSON.parse(document.getElementById(`${box.id}-data`).textContent);
    if (content.webgl && !webgl()) {
      box.textContent = "This browser has no WebGL, which a plot that is rotated needs. The picture shows the same.";
      box.style.height = "auto";
      return;
    }
    const views = content.views;
    const seen = (view) => content.data.map((_, number) => views.of[number] === null || views.of[number] === view);
    if (views) seen(views.first).forEach((on, number) => (content.data[number].visible = on));
    // On a phone the buttons would cover the plot; fingers zoom and turn it.
    const shape = { displaylogo: false, responsive: true, displayModeBar: innerWidth > 640 ? "hover" : false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
    box.layoutOf = () => themed(content.layout);
    Plotly.newPlot(box, content.data, box.layoutOf(), shape).then(() => {
      drawn.add(box);
      box.dataset.drawn = "yes";
    });
    if (!views) return;
    const asked = document.getElementById(`${box.id}-views`);
    const show = (view) => Plotly.restyle(box, { visible: seen(view) });
    const slider = asked.querySelector("input[type=range]");
    if (slider) {
      const names = JSON.parse(slider.dataset.names), said = asked.querySelector("output");
      slider.addEventListener("input", () => {
        said.textContent = names[slider.value];
        slider.setAttribute("aria-valuetext", names[slider.value]);
        show(Number(slider.value));
      });
      show(Number(slider.value));
    } else {
      asked.addEventListener("change", (event) => show(Number(event.target.value)));
    }
  };

  const redress = () => drawn.forEach((box) => {
    const layout = box.layoutOf();
    if (layout.scene && box.layout.scene?.camera) layout.scene.camera = box.layout.scene.camera;
    Plotly.react(box, box.data, layout);
  });

  const label = () => {
    button.textContent = isDark() ? "Light page" : "Dark page";
    redress();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("numberline-theme", root.dataset.theme); } catch { /* a page from disk may not store */ }
    label();
  });
  system.addEventListener("change", label);
  label();

  const boxes = document.querySelectorAll(".plot");
  if (!window.Plotly) return;
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        near.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "400px" });
  boxes.forEach((box) => near.observe(box));
})();
