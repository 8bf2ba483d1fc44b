"use strict";
// The page of a report. Data comes out of inert script elements; every text of it reaches the document by
// `textContent` and attributes, never as markup.
(async () => {
  // ---- elements ----------------------------------------------------------------------------------------------------
  const SVG = document.getElementById("drawing").namespaceURI;

  /** Gives an element attributes (functions are listeners, false and undefined leave out) and children. */
  function filled(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (typeof value === "function") node.addEventListener(name, value);
      else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  }
  const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // ---- data --------------------------------------------------------------------------------------------------------
  async function inflated(slot) {
    const text = atob(slot.textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }
  const slots = (name) => [...document.querySelectorAll(`script[data-slot="${name}"]`)];
  const json = async (slot) => (await inflated(slot)).json();
  const { page, timeline } = await json(slots("page")[0]);
  const contents = await json(slots("tables")[0]);
  const tableSlots = slots("table");
  const opened = new Map();

  /** A table by its place, read when it is first asked for. */
  async function openTable(place) {
    if (!opened.has(place)) opened.set(place, { ...contents[place], ...(await json(tableSlots[place])) });
    return opened.get(place);
  }

  // ---- numbers -----------------------------------------------------------------------------------------------------
  const fixed = (value, digits) =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const whole = (value) => value.toLocaleString("en-US");
  const significant = (value) =>
    value === 0 ? "0" : Math.abs(value) >= 1000 ? fixed(value, 0) : String(Number(value.toPrecision(4)));
  const percent = (part, all) => (all > 0 ? `${fixed((100 * part) / all, 1)}%` : "");
  /** A time in nanoseconds, in the unit in which it is read. */
  function time(ns) {
    const size = Math.abs(ns);
    const [unit, divisor] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
    const value = ns / divisor;
    return `${fixed(value, unit === "ns" ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3)} ${unit}`;
  }
  function size(bytes) {
    const [unit, divisor] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, least]) => bytes >= least) ?? ["B", 1];
    return `${significant(bytes / divisor)} ${unit}`;
  }
  const signed = (ns) => (ns > 0 ? "+" : "") + time(ns);
  function shortened(text, most) {
    if (text.length <= most) return text;
    if (most < 3) return "";
    if (most < 14) return `${text.slice(0, most - 1)}…`;
    const head = Math.ceil((most - 1) * 0.6);
    return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
  }

  // ---- colours ---------------------------------------------------------------------------------------------------------
  // The data names a colour and a letter for each kind of work. Other names get the next of these.
  const SERIES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
  const [WORSE, BETTER] = ["#d98200", "#3a86c8"];
  const OTHERS = ["#7f7f7f", "#a6761d", "#b07aa1", "#66a182", "#c17f59"];
  const known = new Map();
  const letters = new Set(Object.values(page.kinds).map((kind) => kind.letter));
  let others = 0;
  /** Fill, letter and the ink that can be read on it: black and white are equally far from a luminance of 0.179. */
  function look(category) {
    if (!known.has(category)) {
      let { fill, letter } = Object.hasOwn(page.kinds, category) ? page.kinds[category] : {};
      if (!category) [fill, letter] = ["var(--mixed)", ""];
      else if (!fill) {
        fill = OTHERS[others++ % OTHERS.length];
        letter = [...category.toUpperCase()].find((one) => /[A-Z]/.test(one) && !letters.has(one)) ?? "";
        letters.add(letter);
      }
      const ink = fill.startsWith("#") ? (luminance(fill) > 0.179 ? "#000000" : "#ffffff") : "var(--ink)";
      known.set(category, { fill, letter, ink });
    }
    return known.get(category);
  }
  const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  function luminance(hex) {
    const [r, g, b] = channels(hex).map((c) => ((c / 255) <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const painted = (fill) => (fill.startsWith("var(") ? variable(fill.slice(4, -1)) : fill);
  function swatch(category) {
    const { fill, letter, ink } = look(category);
    const box = el("span", { class: "swatch", "aria-hidden": "true" }, letter);
    box.style.background = fill;
    box.style.color = ink;
    return box;
  }

  // ---- the view, which the address holds ------------------------------------------------------------------------------
  const view = new Map(new URLSearchParams(location.hash.slice(1)));
  const listeners = [];
  function remember(changes) {
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === "" || value === null) view.delete(name);
      else view.set(name, String(value));
    }
    history.replaceState(null, "", `#${new URLSearchParams([...view])}`);
  }
  const redraw = () => listeners.forEach((listener) => listener());
  const media = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (view.get("theme") ?? (media.matches ? "dark" : "light")) === "dark";
  function applyTheme() {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    redraw();
  }
  media.addEventListener("change", applyTheme);
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";

  // ---- the tip beside the pointer -------------------------------------------------------------------------------------
  const tip = el("div", { id: "tip", role: "tooltip", hidden: true });
  function showTip(event, text) {
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${clamp(event.clientX + 14, 4, innerWidth - width - 4)}px`;
    tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  }
  const hideTip = () => (tip.hidden = true);
  const tipped = (text) => ({ pointermove: (event) => showTip(event, text()), pointerleave: hideTip });

  // ---- parts of the page ----------------------------------------------------------------------------------------------
  const main = el("main", { id: "content" });
  const links = el("nav", { class: "sections", "aria-label": "Sections" });
  /** A part of the page with its entry in the bar. Folded parts open at a click, or where something leads to them. */
  function section(id, title, isFolded, ...tools) {
    links.append(el("a", { href: `#${id}`, click: (event) => (event.preventDefault(), reveal(made)) }, title));
    const heading = el("h2", { id: `${id}-title` }, title);
    const made = el(isFolded ? "details" : "section", { id, class: "part", "aria-labelledby": `${id}-title`, open: isFolded && unfolded.has(id) });
    if (isFolded) {
      made.append(el("summary", {}, heading), tools.flat(Infinity).length ? el("header", {}, ...tools) : "");
      made.addEventListener("toggle", () => {
        made.open ? unfolded.add(id) : unfolded.delete(id);
        remember({ open: [...unfolded].join(" ") });
        // What was drawn while it was folded did not know its width.
        if (made.open) redraw();
      });
    } else made.append(el("header", {}, heading, ...tools));
    main.append(made);
    return made;
  }
  const unfolded = new Set((view.get("open") ?? "").split(" ").filter(Boolean));
  function reveal(part) {
    if (part.open === false) part.open = true;
    part.scrollIntoView();
  }
  /** Draws when the part comes into view, unfolded: tables and trees are most of the work. */
  function whenSeen(part, draw) {
    let isSeen = false;
    let isDrawn = false;
    const check = () => {
      if (isDrawn || !isSeen || part.open === false) return;
      isDrawn = true;
      observer.disconnect();
      draw();
    };
    const observer = new IntersectionObserver((entries) => ((isSeen ||= entries.some((entry) => entry.isIntersecting)), check()), { rootMargin: "300px" });
    observer.observe(part);
    part.addEventListener("toggle", check);
  }
  const choice = (label, names, chosen, choose) => el("span", { class: "group", role: "group", "aria-label": label },
    names.map((name, at) => el("button", {
      type: "button", "aria-pressed": String(at === chosen()), "aria-label": `${label}: ${name}`,
      click: (event) => {
        choose(at);
        for (const [place, button] of [...event.currentTarget.parentNode.querySelectorAll(`[aria-label^="${label}: "]`)].entries())
          button.setAttribute("aria-pressed", String(place === chosen()));
      },
    }, name)));
  /** The figures of a picture as a table, for those who cannot see it and those who want to copy it. */
  function twin(headers, rows, note) {
    const fill = () => el("div", { class: "scroll", tabindex: 0 }, el("table", {},
      el("thead", {}, el("tr", {}, headers.map((header) => el("th", { scope: "col" }, header)))),
      el("tbody", {}, rows().slice(0, 500).map((row) => el("tr", {}, row.map((cell, at) =>
        el("td", { class: at > 0 && typeof cell !== "object" && /^[+\-−]?[\d,.]+( |$)/.test(String(cell)) ? "figure-cell" : undefined }, String(cell))))))));
    let isFilled = false;
    const details = el("details", { class: "twin" }, el("summary", {}, note ? "as a table, and how time is counted" : "as a table"), note ? el("p", { class: "note" }, note) : null);
    details.addEventListener("toggle", () => details.open && !isFilled && ((isFilled = true), details.append(fill())));
    return details;
  }
  const drawing = (width, height, label, ...children) =>
    svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, children);
  const label = (x, y, text, more) => svg("text", { x, y, ...more }, text);
  const roomOf = (node) => Math.max(280, Math.floor(node.getBoundingClientRect().width || 900));
  function ticks(from, to, most) {
    const rough = (to - from) / most || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    const found = [];
    for (let at = Math.ceil(from / step) * step; at <= to * (1 + 1e-9); at += step) found.push(at);
    return found;
  }

  // ---- head -----------------------------------------------------------------------------------------------------------
  function drawHead() {
    document.title = `${page.title} · tracelens`;
    const theme = el("button", { type: "button", click: () => (remember({ theme: isDark() ? "light" : "dark" }), applyTheme()) }, "Light / dark");
    links.append(el("span", { class: "name", title: page.title }, page.title));
    const [headline, ...statements] = page.statements;
    const count = page.warnings.length;
    const more = [
      page.figures.length + statements.length ? el("details", {}, el("summary", {}, "More figures"),
        page.figures.length ? el("dl", { class: "figures" }, page.figures.map((figure) => el("div", { class: "figure" },
          el("dt", {}, figure.name), el("dd", { class: figure.value.length > 12 ? "value long" : "value" }, figure.value),
          figure.note ? el("dd", { class: "of" }, figure.note) : null))) : null,
        statements.length ? el("ul", { class: "statements" }, statements.map((text) => el("li", {}, text))) : null) : null,
      count ? el("details", { class: page.warnings.some((warning) => warning.severity === "error") ? "warnings error" : "warnings" },
        el("summary", {}, `${count} ${count === 1 ? "thing" : "things"} to know before trusting the figures`),
        el("ul", {}, page.warnings.map((warning) => el("li", {}, warning.text)))) : null,
    ];
    const head = el("header", { id: "head" }, el("div", { class: "named" }, el("h1", {}, page.title),
      el("div", { class: "facts" }, page.head.filter((fact) => fact !== page.title).map((fact) => el("span", {}, fact)))),
      headline ? el("p", { class: "headline" }, headline) : null, more.some(Boolean) ? el("div", { class: "more" }, more) : null);
    main.append(head);
    return theme;
  }

  // ---- findings -------------------------------------------------------------------------------------------------------
  function drawFindings() {
    const FIRST = 3;
    const part = section("findings", "Fix first", false);
    const us = (value) => time(value * 1e3);
    const card = (finding) => el("article", { class: "finding" },
      el("h3", {}, `${finding.rank}. ${finding.title}`),
      finding.saving ? el("div", { class: "save" }, us(finding.saving.amount_us), el("small", {},
        ` (${fixed(finding.saving.amount_pct, 1)}%), up to ${us(finding.saving.high_us)} recoverable`)) : null,
      finding.location ? el("div", { class: "where" }, finding.location) : null,
      finding.remedy ? el("div", { class: "remedy" }, finding.remedy) : null,
      el("details", {}, el("summary", {}, "evidence"),
        finding.saving ? el("p", {}, `probably ${us(finding.saving.mid_us)} recoverable, at least ${us(finding.saving.low_us)}`) : null,
        finding.call_site ? el("p", { class: "where" }, finding.call_site) : null,
        finding.evidence.length ? el("ul", {}, finding.evidence.map((row) => el("li", {}, el("button", {
          type: "button", class: "link", click: () => showRows(row.table, row.row),
        }, row.text || row.row), ` in ${row.table}`))) : null,
        finding.reasons.map((reason) => el("p", {}, reason)),
        finding.alternatives.length ? [el("p", {}, "Other explanations of the same time:"), el("ul", {}, finding.alternatives.map((other) => el("li", {}, other)))] : null,
        finding.doubts.map((doubt) => el("p", { class: "doubt" }, `uncertain: ${doubt}`)),
        el("p", { class: "rule" }, [finding.rule, finding.confidence && `confidence: ${finding.confidence}`].filter(Boolean).join(" · "))));
    const cards = page.findings.map(card);
    const rest = cards.slice(FIRST);
    part.append(el("div", { class: "findings" }, cards.slice(0, FIRST)));
    if (rest.length) part.append(el("details", { class: "rest" }, el("summary", {}, `${rest.length} more ${rest.length === 1 ? "finding" : "findings"}`), el("div", { class: "findings" }, rest)));
  }

  // ---- where the time goes --------------------------------------------------------------------------------------------
  function drawBars() {
    let chosen = clamp(Number(view.get("bars") ?? 0), 0, page.bars.length - 1);
    let scale = 0;
    const part = section("time", "Where the time goes", false,
      page.bars.length > 1 ? choice("Bars", page.bars.map((bars) => bars.title), () => chosen, (at) => ((chosen = at), remember({ bars: at || undefined }), draw())) : [],
      page.bars.some((bars) => bars.bars.length > 1) ? choice("Scale", ["time", "100%"], () => scale, (at) => ((scale = at), draw())) : []);
    const body = el("figure", {});
    part.append(body);
    function draw() {
      const group = page.bars[chosen];
      part.querySelector('[aria-label="Scale"]')?.toggleAttribute("hidden", group.bars.length === 1);
      body.replaceChildren(...stackedBars(group, roomOf(body), scale === 1));
    }
    draw();
    listeners.push(draw);
  }
  /** Bars with their legend, note and table; each fills the width where they are shown as shares. */
  function stackedBars(group, width, areShares) {
    const isOne = group.bars.length === 1;
    const named = isOne ? 0 : clamp(7.2 * Math.max(...group.bars.map((bar) => bar.name.length)) + 8, 40, Math.min(260, width * 0.3));
    const room = width - named - (isOne ? 0 : 84);
    const [height, gap] = isOne ? [36, 0] : group.bars.length > 60 ? [9, 1] : [18, 4];
    const longest = Math.max(1, ...group.bars.map((bar) => bar.total_ns));
    const totals = new Map();
    const rows = group.bars.map((bar, at) => {
      const y = at * (height + gap);
      const full = areShares ? bar.total_ns || 1 : longest;
      let x = named;
      const parts = bar.times.map(([place, ns]) => {
        const name = group.parts[place];
        totals.set(place, (totals.get(place) ?? 0) + ns);
        const wide = (ns / full) * room;
        const { fill, letter, ink } = look(name);
        const text = `${name}\n${time(ns)}, ${percent(ns, bar.total_ns)} of ${isOne ? time(bar.total_ns) : bar.name}`;
        const box = svg("rect", { x, y, width: Math.max(0, wide), height, fill, class: height > 10 ? "edge" : undefined, "data-ns": ns, ...tipped(() => text) });
        const long = `${name} ${percent(ns, bar.total_ns)}`;
        const fits = isOne && wide > 7.4 * long.length ? long : height > 10 && wide > 14 ? letter : "";
        const word = fits ? label(x + 5, y + height / 2 + 4, fits, { "pointer-events": "none", "aria-hidden": "true" }) : null;
        if (word) word.style.fill = ink;
        x += wide;
        return [box, word];
      });
      const words = isOne ? [] : [
        height > 10 ? label(named - 6, y + height - 5, shortened(bar.name, Math.floor(named / 7)), { "text-anchor": "end" }) : null,
        height > 10 ? label(x + 6, y + height - 5, time(bar.total_ns) + (bar.note ? ` ${bar.note}` : ""), { class: "soft" }) : null,
      ];
      return svg("g", { "data-total": bar.total_ns }, parts, words);
    });
    const all = sum(group.bars.map((bar) => bar.total_ns));
    const order = [...totals].filter(([, ns]) => ns > 0);
    return [
      drawing(width, group.bars.length * (height + gap), `${group.title}: stacked bars, as in the table below`, rows),
      el("ul", { class: "legend" }, order.map(([place, ns]) => el("li", {}, swatch(group.parts[place]), group.parts[place],
        el("b", {}, percent(ns, all)), isOne ? time(ns) : null))),
      group.left_out ? el("p", { class: "note" }, `${whole(group.left_out)} more ${group.left_out === 1 ? "bar is" : "bars are"} not shown.`) : null,
      twin(["bar", "time", ...order.map(([place]) => group.parts[place])], () => group.bars.map((bar) =>
        [bar.name, time(bar.total_ns), ...order.map(([place]) => time(sum(bar.times.filter(([of]) => of === place).map(([, ns]) => ns))))]), group.note),
    ].filter(Boolean);
  }

  // ---- icicle: who spends device time ----------------------------------------------------------------------------------
  function drawIcicle() {
    let [chosen, zoom] = (view.get("tree") ?? "0.0").split(".").map(Number);
    if (!page.icicles[chosen]) [chosen, zoom] = [0, 0];
    const up = el("button", { type: "button", click: () => go(page.icicles[chosen].nodes[zoom].parent ?? 0) }, "Up");
    const part = section("tree", "By module and operator", true,
      page.icicles.length > 1 ? choice("Tree", page.icicles.map((tree) => tree.title), () => chosen, (at) => ((chosen = at), go(0))) : [], up);
    const body = el("figure", {});
    const said = el("div", { class: "details", "aria-live": "polite" });
    part.append(body, said);
    let focused = zoom;
    const childrenOf = new Map();
    function children() {
      if (!childrenOf.has(chosen)) {
        const lists = page.icicles[chosen].nodes.map(() => []);
        page.icicles[chosen].nodes.forEach((node, at) => node.parent !== null && lists[node.parent].push(at));
        childrenOf.set(chosen, lists);
      }
      return childrenOf.get(chosen);
    }
    function go(at) {
      zoom = focused = page.icicles[chosen].nodes[at] ? at : 0;
      remember({ tree: zoom || chosen ? `${chosen}.${zoom}` : undefined });
      draw();
    }
    function path(at) {
      const names = [];
      for (let node = at; node; node = page.icicles[chosen].nodes[node].parent) names.unshift(page.icicles[chosen].nodes[node].name);
      return names;
    }
    function say(at) {
      const nodes = page.icicles[chosen].nodes;
      const [node, parent] = [nodes[at], nodes[nodes[at].parent ?? 0]];
      said.replaceChildren(el("div", { class: "code" }, path(at).join(" › ") || node.name),
        el("div", {}, `${node.kind}: ${time(node.time_ns)}, ${percent(node.time_ns, parent.time_ns)} of ${shortened(parent.name, 60)}, ` +
          `${percent(node.time_ns, nodes[0].time_ns)} of all · ${whole(node.count)} device ${node.count === 1 ? "event" : "events"}`,
          node.kind === "kernel" || node.kind === "operator" ? [" · ", el("button", { type: "button", class: "link", click: () => showRows(null, node.name) }, "show in tables")] : null));
    }
    const HIGH = 24;
    function draw() {
      const nodes = page.icicles[chosen].nodes;
      const lists = children();
      const width = roomOf(body);
      const boxes = [];
      let deepest = 0;
      function place(at, x, wide, depth) {
        const node = nodes[at];
        deepest = Math.max(deepest, depth);
        const { fill, ink } = look(node.category);
        const word = wide > 26 ? label(x + 5, depth * HIGH + 16, shortened(node.name, Math.floor((wide - 8) / 6.7)), { "pointer-events": "none" }) : null;
        if (word) word.style.fill = ink;
        boxes.push(svg("g", {}, svg("rect", {
          x, y: depth * HIGH, width: Math.max(0.5, wide), height: HIGH - 1, fill, class: "edge pointer", "data-node": at,
          click: () => go(at), ...tipped(() => `${node.name}\n${node.kind}: ${time(node.time_ns)}, ${percent(node.time_ns, nodes[zoom].time_ns)}`),
        }), word));
        let left = x;
        for (const child of lists[at]) {
          const room = nodes[at].time_ns > 0 ? (nodes[child].time_ns / nodes[at].time_ns) * wide : 0;
          if (room >= 1) place(child, left, room, depth + 1);
          left += room;
        }
      }
      place(zoom, 0, width, 0);
      const outline = svg("rect", { class: "outline", height: HIGH - 1 });
      const picture = drawing(width, (deepest + 1) * HIGH, `${page.icicles[chosen].title}; arrow keys move, Enter zooms in, Escape zooms out`, boxes, outline);
      picture.setAttribute("tabindex", 0);
      picture.setAttribute("role", "application");
      picture.addEventListener("keydown", (event) => {
        const parent = nodes[focused].parent ?? 0;
        const siblings = focused === zoom ? [zoom] : lists[parent];
        const at = siblings.indexOf(focused);
        const to = { ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1], ArrowDown: lists[focused][0], ArrowUp: focused === zoom ? undefined : parent }[event.key];
        if (event.key === "Enter") go(focused);
        else if (event.key === "Escape") go(nodes[zoom].parent ?? 0);
        else if (to === undefined) return;
        else focused = to;
        event.preventDefault();
        if (event.key === "Enter" || event.key === "Escape") body.querySelector("svg").focus();
        else mark();
      });
      function mark() {
        const box = picture.querySelector(`[data-node="${focused}"]`);
        for (const name of ["x", "y", "width"]) outline.setAttribute(name, box?.getAttribute(name) ?? 0);
        say(focused);
      }
      picture.addEventListener("focus", mark);
      up.disabled = zoom === 0;
      body.replaceChildren(picture, el("figcaption", { class: "note" }, page.icicles[chosen].note),
        twin(["path", "kind", "time", "device events"], () => lists[zoom].flatMap((at) => [at, ...lists[at]]).map((at) =>
          [path(at).join(" › "), nodes[at].kind, time(nodes[at].time_ns), whole(nodes[at].count)])));
      say(zoom);
    }
    draw();
    listeners.push(draw);
  }

  // ---- timeline -------------------------------------------------------------------------------------------------------
  /** Lanes of events by start, and where not all are in the page, the busy time of each category in each bin. */
  async function readEvents() {
    const bytes = new Uint8Array(await (await inflated(slots("events")[0])).arrayBuffer());
    let at = 0;
    function number() {
      let [value, factor] = [0, 1];
      for (;;) {
        const byte = bytes[at++];
        value += (byte & 127) * factor;
        if (byte < 128) return value;
        factor *= 128;
      }
    }
    const lanes = timeline.lanes.map((described) => {
      const count = number();
      const lane = { ...described, start: new Float64Array(count), length: new Float64Array(count), kindOf: new Uint32Array(count), bins: [] };
      for (let i = 0, before = 0; i < count; i++) lane.start[i] = before += number();
      for (let i = 0; i < count; i++) lane.length[i] = number();
      for (let i = 0; i < count; i++) lane.kindOf[i] = number();
      if (!lane.linked) return lane;
      [lane.host, lane.launch] = [new Uint32Array(count), new Float64Array(count)];
      for (let i = 0; i < count; i++) {
        if (!(lane.host[i] = number())) continue;
        const distance = number();
        lane.launch[i] = lane.start[i] - (distance % 2 ? -(distance + 1) / 2 : distance / 2);
      }
      return lane;
    });
    for (const lane of lanes.filter((one) => one.kind !== "host" && !one.exact))
      for (let left = number(); left > 0; left--) {
        const times = { category: number(), time: new Float64Array(timeline.bins) };
        for (let some = number(), bin = 0; some > 0; some--) times.time[(bin += number())] = number();
        lane.bins.push(times);
      }
    return lanes;
  }
  /** The events of a thread by level: those of one level lie inside those of the level above. */
  function levelsOf(lane) {
    const levels = [];
    const ends = [];
    for (let at = 0; at < lane.start.length; at++) {
      while (ends.length && ends[ends.length - 1] <= lane.start[at]) ends.pop();
      (levels[ends.length] ??= []).push(at);
      ends.push(lane.start[at] + lane.length[at]);
    }
    const pick = (of, places) => of.constructor.from(places, (at) => of[at]);
    return levels.map((places) => ({ start: pick(lane.start, places), length: pick(lane.length, places), kindOf: pick(lane.kindOf, places) }));
  }

  async function drawTimeline() {
    const [HIGH, LEVEL, COUNTER, TOP] = [20, 15, 30, timeline.marks.length ? 40 : 20];
    /** Rows of events before others are asked for, and levels of a thread. */
    const [MOST_STREAMS, FEW_LEVELS, MOST_LEVELS, MOST_ARROWS] = [24, 5, 30, 300];
    const button = (name, title, click, more) => el("button", { type: "button", title, "aria-label": title, click, ...more }, name);
    const search = el("input", { type: "search", placeholder: "Search names: /", "aria-label": "Search names in the timeline: text, or /regular expression/", spellcheck: "false", value: view.get("find") ?? "" });
    const counted = el("span", { class: "note", role: "status" });
    const part = section("timeline", "Timeline", false, search, counted,
      button("−", "Zoom out (s)", () => zoomed(2, 0.5)), button("+", "Zoom in (w)", () => zoomed(0.5, 0.5)), button("All", "Show the whole recording (0)", () => show(0, timeline.end_ns)),
      button("Taller", "Expand the timeline to the full page", (event) => {
        isTall = box.classList.toggle("tall");
        event.currentTarget.setAttribute("aria-pressed", String(isTall));
        arrange();
      }, { "aria-pressed": "false" }));
    const canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": "Device and host events over time. w and s zoom, a and d pan, arrow keys pan and select the row, n and p select events, slash searches." });
    const room = el("div", {}, canvas);
    const box = el("div", { class: "timeline screen-only" }, room);
    const paper = el("div", { class: "paper-only" });
    const about = `${whole(timeline.events)} device events${timeline.exact ? "" : `, shown as busy time in ${whole(timeline.bins)} bins, with the longest events drawn individually`}. ` +
      "Click an event for its details and launch. Keys: w and s zoom, a and d pan, f zooms to the event, n and p go to the next and previous event, / searches. Drag to pan; Ctrl + wheel zooms.";
    const said = el("div", { class: "details", "aria-live": "polite" }, about);
    part.append(box, paper, said);
    const all = await readEvents();
    const categoryOf = (row, at) => timeline.kinds[row.kindOf[at]].category;
    for (const lane of all) {
      lane.times = new Map();
      const add = (category, ns) => lane.times.set(category, (lane.times.get(category) ?? 0) + ns);
      if (lane.exact || lane.kind === "host") lane.length.forEach((ns, at) => add(categoryOf(lane, at), ns));
      else lane.bins.forEach((bin) => add(bin.category, bin.time.reduce((a, b) => a + b, 0)));
      lane.time = sum([...lane.times.values()]);
      const longest = (row) => ({ ...row, longest: row.length.reduce((a, b) => Math.max(a, b), 0) });
      lane.rows = lane.kind === "host"
        ? levelsOf(lane).slice(0, MOST_LEVELS).map((level, depth) => longest({ ...level, lane, name: depth ? "" : lane.name, bins: [] }))
        : [longest({ ...lane, lane })];
    }
    const of = (kind) => all.filter((lane) => lane.kind === kind);
    const [streams, waits, hosts] = [of("work"), of("idle"), of("host")];
    const counters = timeline.counters.map((counter) => {
      const highest = counter.values.reduce((a, b) => Math.max(a, b), 1e-12);
      return { counter, highest, name: `${counter.name} ≤ ${significant(highest)}` };
    });
    const busiest = new Set([...streams].sort((a, b) => b.time - a.time).slice(0, MOST_STREAMS));
    let lanes = streams.length > MOST_STREAMS + 8 ? streams.filter((lane) => busiest.has(lane)) : streams;
    if (lanes.length < streams.length)
      part.querySelector("header").append(el("button", { type: "button", click: (event) => ((lanes = streams), event.currentTarget.remove(), arrange()) }, `All ${whole(streams.length)} streams, not only the busiest ${MOST_STREAMS}`));
    const legend = (title, of) => {
      const times = new Map();
      for (const one of of) for (const [category, ns] of one.times) times.set(category, (times.get(category) ?? 0) + ns);
      const order = [...times].filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
      return order.length ? el("ul", { class: "legend", "aria-label": title }, el("li", {}, `${title}:`),
        order.map(([category, ns]) => el("li", {}, swatch(timeline.categories[category]), timeline.categories[category].replace(/^idle: /, ""), el("b", {}, time(ns))))) : null;
    };
    said.after(legend("Idle, by cause", waits) ?? "");
    if (!page.bars.length) said.after(legend("Work", streams) ?? "");
    part.append(twin(["row", "events shown", "time", "by kind"], () => all.map((lane) => [lane.name, whole(lane.start.length), lane.kind === "host" ? "" : time(lane.time),
      lane.kind === "host" ? "" : [...lane.times].sort((a, b) => b[1] - a[1]).map(([category, ns]) => `${timeline.categories[category]} ${time(ns)}`).join(", ")])));
    let [from, to] = (view.get("zoom") ?? "").split("-").map(Number);
    if (!(to > from)) [from, to] = [0, timeline.end_ns];
    let isTall = false;
    /** What stands below each other now, each row with its top and height; what is selected, and where the pointer is. */
    let rows = [];
    let [row, picked, pointer] = [null, -1, 0.5];
    let [width, height, names] = [0, 0, 0];
    const x = (ns) => names + ((ns - from) / (to - from)) * (width - names);

    function arrange() {
      let top = TOP;
      const put = (one, high) => ((one.top = top), (one.high = high), (top += high), one);
      rows = [...[...waits, ...lanes].flatMap((lane) => lane.rows.map((one) => put(one, HIGH))), ...counters.map((one) => put(one, COUNTER)),
        ...hosts.flatMap((lane) => lane.rows.slice(0, isTall ? MOST_LEVELS : FEW_LEVELS).map((one) => put(one, LEVEL)))];
      if (!rows.includes(row)) [row, picked] = [rows[0], -1];
      height = top + 4;
      search.value ? find() : draw();
    }
    function draw() {
      width = roomOf(box);
      names = clamp(6.6 * Math.max(...rows.map((one) => one.name.length)) + 12, 50, Math.min(200, width * 0.28));
      room.style.height = `${height}px`;
      const [ratio, visible] = [devicePixelRatio || 1, Math.min(height, box.clientHeight || height)];
      canvas.width = width * ratio;
      canvas.height = visible * ratio;
      canvas.style.height = `${visible}px`;
      canvas.dataset.names = Math.round(names);
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      paint({
        rect: (fill, left, top, wide, high, isFaded) => {
          pen.fillStyle = painted(fill);
          if (isFaded) pen.globalAlpha = 0.2;
          pen.fillRect(left, top, wide, high);
          pen.globalAlpha = 1;
        },
        text: (ink, left, top, text) => ((pen.fillStyle = painted(ink)), (pen.font = "12px system-ui, sans-serif"), pen.fillText(text, left, top)),
        curve: (a, b, c, d) => {
          [pen.strokeStyle, pen.lineWidth] = [painted("var(--ink)"), 1.2];
          pen.beginPath();
          pen.moveTo(a, b);
          pen.bezierCurveTo(a, (b + d) / 2, c, (b + d) / 2, c, d);
          pen.stroke();
        },
      }, box.scrollTop, visible);
    }
    /** Draws what is in a window of the rows. */
    function paint({ rect, text, curve }, above, visible) {
      rect("var(--paper)", 0, 0, width, visible);
      for (const one of rows) {
        const top = one.top - above;
        if (top + one.high <= TOP || top >= visible) continue;
        rect("var(--grid)", 0, top + one.high - 1, width, 1);
        if (one.counter) values(one, top, rect);
        else events(one, top, { rect, text });
        rect("var(--paper)", 0, top, names, one.high - 1);
        text(one === row ? "var(--accent)" : "var(--ink)", 6, top + one.high / 2 + 4, shortened(one.name, Math.floor((names - 8) / 6.4)));
      }
      for (const [a, start, b, end] of arrows()) {
        const [upper, lower] = b.top < a.top ? [b, a] : [a, b];
        const ends = [[a, start], [b, end]].map(([one, ns]) => [clamp(x(ns), names, width), clamp(one === upper ? one.top + one.high - 3 : lower.top, above + TOP, above + visible) - above]);
        curve(...ends[0], ...ends[1]);
        rect("var(--ink)", ends[1][0] - 2, ends[1][1] - 2, 4, 4);
      }
      // The scale and the steps stand above the rows, however far these are scrolled.
      rect("var(--paper)", 0, 0, width, TOP);
      for (const at of ticks(from, to, Math.max(2, (width - names) / 120))) {
        rect("var(--grid)", x(at), 14, 1, TOP - 14);
        text("var(--soft)", x(at) + 3, 13, time(at));
      }
      let labelled = -1;
      for (const [index, mark] of timeline.marks.entries()) {
        const [left, right] = [Math.max(names, x(mark.start_ns)), Math.min(width, x(mark.end_ns))];
        if (right <= names || left >= width) continue;
        rect(index % 2 ? "var(--raised)" : "var(--accent-soft)", left, 19, Math.max(1, right - left), 17);
        if (right - left > 7 * Math.min(mark.name.length, 6) && left > labelled) {
          text("var(--ink)", left + 3, 32, shortened(mark.name, Math.floor((right - left - 4) / 6.4)));
          labelled = left;
        }
      }
    }
    function values(one, top, rect) {
      const { times_ns: times, values } = one.counter;
      for (let at = 0, column = -1, most = 0; at < times.length; at++) {
        const [left, right] = [Math.max(names, x(times[at])), Math.min(width, x(times[at + 1] ?? timeline.end_ns))];
        if (right < names || left > width) continue;
        // Of the values in one column of pixels the largest is seen.
        if (Math.floor(left) === column && values[at] <= most && right - left < 1) continue;
        [column, most] = [Math.floor(left), values[at]];
        const high = (values[at] / one.highest) * (one.high - 5);
        rect("var(--bar)", left, top + one.high - 2 - high, Math.max(0.7, right - left), high);
        if (high > 0) rect("var(--accent)", left, top + one.high - 3 - high, Math.max(0.7, right - left), 1.5);
      }
    }
    function events(one, top, { rect, text }) {
      const high = one.high;
      const stacked = (cells, origin, size, count) => {
        for (let at = Math.max(0, Math.floor((from - origin) / size)); at < count && origin + at * size < to; at++) {
          let bottom = top + high - 1;
          for (const { category, time: times } of cells) {
            const tall = Math.min(1, times[at] / size) * (high - 2);
            if (tall > 0) rect(look(timeline.categories[category]).fill, Math.max(names, x(origin + at * size)), (bottom -= tall), Math.max(1, x(size) - x(0)), tall, wanted !== null);
          }
        }
      };
      if (one.bins.length) stacked(one.bins, 0, timeline.end_ns / timeline.bins, timeline.bins);
      const [first, end] = [firstFrom(one, from - one.longest), firstFrom(one, to)];
      // Events that share a pixel are summed up: painted over each other they would be a mud of colours.
      const columns = Math.max(1, Math.floor(width - names));
      const isDense = end - first > 2 * columns;
      if (isDense && !one.bins.length) stacked(summed(one, first, end, columns), from, (to - from) / columns, columns);
      let last = { right: -1, fill: "" };
      for (let at = first; at < end; at++) {
        const [start, stop] = [x(one.start[at]), x(one.start[at] + one.length[at])];
        const isWanted = wanted !== null && wanted[one.kindOf[at]] === 1;
        if (stop < names || (isDense && stop - start < 3 && !isWanted)) continue;
        const { fill, letter, ink } = look(timeline.categories[categoryOf(one, at)]);
        const left = Math.max(names, start);
        const wide = Math.max(isWanted ? 2 : 0.6, stop - left - (stop - left > 3 ? 0.5 : 0));
        // What lies in the pixel of the event before it, in its colour, is there already.
        if (left + wide < last.right && fill === last.fill && !isWanted) continue;
        rect(fill, left, top + 1, wide, high - 2, wanted !== null && !isWanted);
        last = { right: Math.max(Math.ceil(left + wide), last.right), fill };
        const name = wide > 34 ? shortened(timeline.kinds[one.kindOf[at]].name, Math.floor((wide - 6) / 6.6)) : wide > 14 ? letter : "";
        if (name) text(ink, left + 3, top + high - (high > LEVEL ? 6 : 4), name);
      }
      if (one === row && picked >= 0) {
        const [left, right] = [Math.max(names, x(one.start[picked])), x(one.start[picked] + one.length[picked])];
        if (right >= names) for (const [a, b, c, d] of [[left - 1, top, right - left + 2, 2], [left - 1, top + high - 3, right - left + 2, 2], [left - 2, top, 2, high - 1], [right, top, 2, high - 1]]) rect("var(--ink)", a, b, c, d);
      }
    }
    /** The time of each category in each column of pixels. */
    function summed(one, first, end, columns) {
      const sums = new Map();
      const size = (to - from) / columns;
      for (let at = first; at < end; at++) {
        const category = categoryOf(one, at);
        if (!sums.has(category)) sums.set(category, new Float64Array(columns));
        const [times, stop] = [sums.get(category), Math.min(to, one.start[at] + one.length[at])];
        for (let ns = Math.max(from, one.start[at]); ns < stop; ) {
          const column = Math.min(columns - 1, Math.floor((ns - from) / size));
          const next = Math.min(stop, from + (column + 1) * size);
          times[column] += next - ns;
          ns = next > ns ? next : stop;
        }
      }
      return [...sums].sort(([a], [b]) => a - b).map(([category, time]) => ({ category, time }));
    }
    /** The first event that starts there or later. */
    function firstFrom(one, ns) {
      let [low, high] = [0, one.start.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (one.start[middle] < ns) low = middle + 1;
        else high = middle;
      }
      return low;
    }
    /** The event of a row at a moment: the last to start of those that run then, give or take `near`. */
    function eventAt(one, ns, near) {
      for (let at = firstFrom(one, ns + near) - 1; at >= 0 && one.start[at] >= ns - one.longest - near; at--)
        if (one.start[at] + one.length[at] >= ns - near) return at;
      return -1;
    }

    // What launched what: device events know the thread and moment of their launch.
    const launched = new Map();
    /** The device events that a thread launched, by the moment of the launch. */
    function launchedBy(lane) {
      if (!launched.has(lane)) {
        const [number, list] = [hosts.indexOf(lane) + 1, []];
        for (const stream of streams) stream.host?.forEach((host, at) => host === number && list.push({ ns: stream.launch[at], stream, at }));
        launched.set(lane, list.sort((a, b) => a.ns - b.ns));
      }
      return launched.get(lane);
    }
    const launchedWithin = (one, at) => launchedBy(one.lane).filter(({ ns }) => ns >= one.start[at] && ns < one.start[at] + Math.max(one.length[at], 1));
    /** The arrows of what is selected: a row and a moment where each begins and ends. */
    function arrows() {
      if (picked < 0) return [];
      if (row.lane.kind === "host")
        return launchedWithin(row, picked).slice(0, MOST_ARROWS).flatMap(({ stream, at }) => (rows.includes(stream.rows[0]) ? [[row, stream.launch[at], stream.rows[0], stream.start[at]]] : []));
      if (!row.host?.[picked]) return [];
      const ns = row.launch[picked];
      const levels = hosts[row.host[picked] - 1].rows.filter((one) => rows.includes(one));
      const call = levels.findLast((one) => eventAt(one, ns, 0) >= 0) ?? levels[0];
      return call ? [[call, ns, row, row.start[picked]]] : [];
    }

    // Search.
    let [wanted, hits] = [null, []];
    function find() {
      const text = search.value;
      const matches = matcher(text);
      [wanted, hits] = [null, []];
      counted.textContent = matches ? "" : "Not a valid regular expression.";
      if (text && matches) {
        wanted = Uint8Array.from(timeline.kinds, (kind) => (matches(kind.name) ? 1 : 0));
        for (const one of rows) one.kindOf?.forEach((kind, at) => wanted[kind] && hits.push({ one, at, ns: one.start[at] }));
        hits.sort((a, b) => a.ns - b.ns);
        const device = hits.filter(({ one }) => one.lane.kind === "work");
        counted.textContent = hits.length ? `${whole(hits.length)} ${hits.length === 1 ? "event" : "events"}${device.length ? `, ${time(sum(device.map(({ one, at }) => one.length[at])))} on the device` : ""}; Enter: next` : "No event has this name.";
      }
      remember({ find: text });
      draw();
    }
    function nextHit(step) {
      if (!hits.length) return;
      const at = hits.findIndex(({ one, at }) => one === row && at === picked);
      const middle = (from + to) / 2;
      const first = Math.max(0, hits.findIndex(({ ns }) => ns >= (picked < 0 ? from : middle)));
      const hit = hits[at < 0 ? first : (at + step + hits.length) % hits.length];
      pick(hit.one, hit.at);
    }
    let typed = 0;
    search.addEventListener("input", () => (clearTimeout(typed), (typed = setTimeout(find, 120))));
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") ((search.value = ""), find(), canvas.focus());
      else return;
      event.preventDefault();
    });

    function show(start, end) {
      const size = clamp(end - start, Math.min(100, timeline.end_ns), timeline.end_ns);
      from = clamp(start, 0, timeline.end_ns - size);
      to = from + size;
      remember({ zoom: size < timeline.end_ns ? `${Math.round(from)}-${Math.round(to)}` : undefined });
      requestAnimationFrame(draw);
    }
    const zoomed = (factor, share) => {
      const size = (to - from) * factor;
      const middle = from + (to - from) * share;
      show(middle - size * share, middle + size * (1 - share));
    };
    const shareAt = (event) => clamp((event.clientX - canvas.getBoundingClientRect().left - names) / (width - names), 0, 1);
    const nsAt = (event) => from + shareAt(event) * (to - from);
    function pick(one, at) {
      [row, picked] = [one, at];
      if (one.top < box.scrollTop + TOP) box.scrollTop = one.top - TOP;
      else if (one.top + one.high > box.scrollTop + box.clientHeight) box.scrollTop = one.top + one.high - box.clientHeight;
      if (at >= 0) {
        describe(one, at);
        if (one.start[at] + one.length[at] < from || one.start[at] > to) show(one.start[at] - (to - from) / 2, one.start[at] + (to - from) / 2);
      } else said.textContent = about;
      draw();
    }
    function describe(one, at) {
      const kind = timeline.kinds[one.kindOf[at]];
      const code = (text) => el("span", { class: "code" }, text);
      const facts = { work: workFacts, idle: () => [["idle", kind.name], ["until", code(kind.place)]], host: hostFacts }[one.lane.kind](one, at, kind, code);
      facts.push(["time", `${time(one.length[at])}, from ${time(one.start[at])}`]);
      said.replaceChildren(el("dl", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
        el("button", { type: "button", click: () => showRows(null, one.lane.kind === "idle" ? kind.place : kind.name) }, "Show in tables"));
    }
    function workFacts(one, at, kind, code) {
      const delay = one.host?.[at] ? one.start[at] - one.launch[at] : null;
      return [["event", code(kind.name)], ["kind of work", timeline.categories[kind.category]],
        ...(kind.place ? [["launched by", code(kind.place)]] : []), ["stream", one.lane.name],
        ...(delay === null ? [] : [["launch", `${time(delay)} before its start, on ${hosts[one.host[at] - 1].name}`]])];
    }
    function hostFacts(one, at, kind, code) {
      const within = launchedWithin(one, at);
      return [[timeline.categories[kind.category], code(kind.name)], ["thread", one.lane.name],
        ["launched", within.length ? `${whole(within.length)} device ${within.length === 1 ? "event" : "events"}, ${time(sum(within.map(({ stream, at }) => stream.length[at])))}` : "nothing"]];
    }
    /** The row and event under the pointer. */
    function under(event) {
      const y = event.clientY - canvas.getBoundingClientRect().top;
      const one = y < TOP ? undefined : rows.find(({ top, high }) => y + box.scrollTop >= top && y + box.scrollTop < top + high);
      if (!one || one.counter) return [one, -1];
      return [one, eventAt(one, nsAt(event), (2 * (to - from)) / (width - names))];
    }
    function hover(event) {
      pointer = shareAt(event);
      const [one, at] = under(event);
      if (one?.counter) {
        const { times_ns: times, values } = one.counter;
        const place = times.findLastIndex((ns) => ns <= nsAt(event));
        if (place >= 0) return showTip(event, `${one.counter.name}: ${significant(values[place])}`);
      }
      if (at < 0) return hideTip();
      const kind = timeline.kinds[one.kindOf[at]];
      showTip(event, `${shortened(kind.name, 200)}\n${time(one.length[at])}, ${timeline.categories[kind.category]}`);
    }
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, from, to, moved: false };
      canvas.setPointerCapture(event.pointerId);
      hideTip();
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return hover(event);
      const moved = event.clientX - drag.x;
      if (Math.abs(moved) > 3) drag.moved = true;
      const ns = (moved / (width - names)) * (drag.to - drag.from);
      if (drag.moved) show(drag.from - ns, drag.to - ns);
    });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("pointerup", (event) => {
      const was = drag;
      drag = null;
      if (!was || was.moved) return;
      const ns = nsAt(event);
      const step = event.clientY - canvas.getBoundingClientRect().top < TOP && timeline.marks.find((mark) => mark.start_ns <= ns && ns < mark.end_ns);
      if (step) return show(step.start_ns, step.end_ns);
      const [one, at] = under(event);
      if (one && !one.counter) pick(one, at);
    });
    canvas.addEventListener("dblclick", (event) => zoomed(0.25, shareAt(event)));
    canvas.addEventListener("wheel", (event) => {
      const across = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey) zoomed(event.deltaY > 0 ? 1.25 : 0.8, shareAt(event));
      else if (Math.abs(across) > (event.shiftKey ? 0 : Math.abs(event.deltaY))) show(from + (across / width) * (to - from), to + (across / width) * (to - from));
      else return;
      event.preventDefault();
    }, { passive: false });
    box.addEventListener("scroll", () => requestAnimationFrame(draw));
    const pan = (share) => show(from + share * (to - from), to + share * (to - from));
    const nextRow = (step) => {
      const list = rows.filter((one) => !one.counter);
      pick(list[clamp(list.indexOf(row) + step, 0, list.length - 1)], -1);
    };
    const fitted = () => picked >= 0 && show(row.start[picked] - row.length[picked] / 2 - 50, row.start[picked] + 1.5 * row.length[picked] + 50);
    const focused = {
      "+": () => zoomed(0.5, 0.5), "=": () => zoomed(0.5, 0.5), "-": () => zoomed(2, 0.5), 0: () => show(0, timeline.end_ns), Home: () => show(0, to - from),
      ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), ArrowUp: () => nextRow(-1), ArrowDown: () => nextRow(1),
      n: () => pick(row, Math.min(row.start.length - 1, picked < 0 ? firstFrom(row, from) : picked + 1)), p: () => pick(row, Math.max(0, picked - 1)),
    };
    const anywhere = { w: () => zoomed(0.7, pointer), s: () => zoomed(1 / 0.7, pointer), a: () => pan(-0.15), d: () => pan(0.15), f: fitted, Escape: () => pick(row, -1) };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, [role=tree], [role=application]")) return;
      const { top, bottom } = box.getBoundingClientRect();
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      const act = key === "/" ? () => (search.focus(), search.select()) : (document.activeElement === canvas && focused[key]) || (top < innerHeight && bottom > 0 && anywhere[key]);
      if (!act) return;
      event.preventDefault();
      act();
    });
    arrange();
    listeners.push(draw);
    beforePrint.push(() => {
      const shapes = [];
      paint({
        rect: (fill, left, top, wide, high, isFaded) => wide > 0 && shapes.push(svg("rect", { x: left.toFixed(1), y: top, width: wide.toFixed(1), height: high.toFixed(1), fill, opacity: isFaded ? 0.2 : undefined })),
        text: (ink, left, top, text) => shapes.push(label(left, top, text)),
        curve: (a, b, c, d) => shapes.push(svg("path", { class: "roof", d: `M${a},${b}C${a},${(b + d) / 2} ${c},${(b + d) / 2} ${c},${d}` })),
      }, 0, height);
      // On paper the picture is drawn, up to what a printer takes.
      paper.replaceChildren(shapes.length < 60000 ? drawing(width, height, "Timeline", shapes) : el("p", {}, "The timeline has too many events to print."));
    });
  }

  // ---- marks on two logarithmic scales ----------------------------------------------------------------------------------
  const MARKS = [
    (x, y, r) => svg("circle", { cx: x, cy: y, r }),
    (x, y, r) => svg("rect", { x: x - r * 0.89, y: y - r * 0.89, width: r * 1.78, height: r * 1.78 }),
    (x, y, r) => svg("path", { d: `M${x},${y - r * 1.25}L${x + r * 1.25},${y}L${x},${y + r * 1.25}L${x - r * 1.25},${y}Z` }),
    (x, y, r) => svg("path", { d: `M${x},${y - r * 1.3}L${x + r * 1.2},${y + r * 0.8}L${x - r * 1.2},${y + r * 0.8}Z` }),
  ];
  const shapeKey = (at, name) => {
    const shape = MARKS[at % MARKS.length](8, 8, 5);
    shape.setAttribute("fill", "currentColor");
    return el("li", {}, svg("svg", { width: 16, height: 16, "aria-hidden": "true" }, shape), name);
  };
  const colourKey = (colour, name, note) => {
    const mark = el("span", { class: "swatch", "aria-hidden": "true" });
    mark.style.background = colour;
    return el("li", {}, mark, name, note ? el("b", {}, note) : null);
  };
  /**
   * Marks whose area is their weight, with arrows from where they were in another run. `axes` are the titles and formats of
   * x and y, `spans` the values that these have to reach; `lines` draws below the marks, from the scales; `framed` takes the
   * marks in a frame that was drawn. Gives the picture and how many marks of next to no weight lie outside of it.
   */
  function logScatter(width, { title, marks, axes, spans, lines, framed }) {
    const [height, left, bottom] = [Math.min(520, 0.62 * width + 80), 62, 42];
    const all = sum(marks.map((mark) => mark.weight));
    // What takes hardly any time must not press the others into a corner.
    const heavy = marks.filter((mark) => mark.weight >= 0.0005 * all);
    const ends = [0, 1].map((axis) => {
      const values = [...heavy.flatMap((mark) => [mark.at[axis], ...(mark.before ? [mark.before[axis]] : [])]), ...spans[axis]];
      return [10 ** Math.floor(Math.log10(Math.min(...values))), 10 ** Math.ceil(Math.log10(Math.max(...values) * 1.02))];
    });
    const [[x0, x1], [y0, y1]] = ends;
    const x = (value) => left + (Math.log10(value / x0) / Math.log10(x1 / x0)) * (width - left - 12);
    const y = (value) => height - bottom - (Math.log10(value / y0) / Math.log10(y1 / y0)) * (height - bottom - 14);
    const powers = ([from, to], room) => {
      const count = Math.round(Math.log10(to / from));
      const step = Math.ceil((count * room) / (width - left));
      return Array.from({ length: count + 1 }, (_, at) => [from * 10 ** at, at % step === 0]);
    };
    const grid = [
      ...powers(ends[0], 52).flatMap(([at, named]) => [svg("line", { class: "grid", x1: x(at), x2: x(at), y1: 10, y2: height - bottom }),
        named ? label(x(at), height - bottom + 16, axes[0].format(at), { "text-anchor": x(at) > width - 40 ? "end" : "middle", class: "soft" }) : null]),
      ...powers(ends[1], 0).flatMap(([at]) => [svg("line", { class: "grid", x1: left, x2: width - 12, y1: y(at), y2: y(at) }),
        label(left - 6, y(at) + 4, axes[1].format(at), { "text-anchor": "end", class: "soft" })]),
    ];
    const isInside = ([a, b]) => a >= x0 && a <= x1 && b >= y0 && b <= y1;
    const inside = marks.filter((mark) => isInside(mark.at));
    const largest = Math.max(...marks.map((mark) => mark.weight), 1e-12);
    const drawn = inside.map((mark) => {
      const [a, b] = [x(mark.at[0]), y(mark.at[1])];
      const shape = MARKS[mark.shape % MARKS.length](a, b, 3 + 15 * Math.sqrt(mark.weight / largest));
      filled(shape, { fill: mark.fill, "fill-opacity": mark.faded ? 0.12 : 0.78, class: mark.click ? "edge pointer" : "edge", click: mark.click, ...tipped(mark.tip) }, []);
      if (!mark.before || !isInside(mark.before)) return shape;
      const [c, d] = [x(mark.before[0]), y(mark.before[1])];
      const [length, turn] = [Math.hypot(a - c, b - d), Math.atan2(b - d, a - c)];
      const head = Math.min(9, 0.6 * length);
      const tip = [0.45, -0.45].map((by) => `${(a - head * Math.cos(turn + by)).toFixed(1)},${(b - head * Math.sin(turn + by)).toFixed(1)}`);
      // A shorter one would be a blot.
      return [shape, length < 3 ? null : svg("path", { class: mark.faded ? "arrow faded" : "arrow", d: `M${c.toFixed(1)},${d.toFixed(1)}L${a.toFixed(1)},${b.toFixed(1)}M${tip[0]}L${a.toFixed(1)},${b.toFixed(1)}L${tip[1]}` })];
    });
    const box = svg("rect", { class: "brush", hidden: true, "pointer-events": "none" });
    const picture = drawing(width, height, title, grid, lines?.({ x, y, x0, x1, y0, y1, right: width - 16 }), drawn, box,
      label((width + left) / 2, height - 6, axes[0].title, { "text-anchor": "middle", class: "soft" }),
      label(-height / 2, 13, axes[1].title, { transform: "rotate(-90)", "text-anchor": "middle", class: "soft" }));
    let start = null;
    const at = (event) => {
      const frame = picture.getBoundingClientRect();
      return [(event.clientX - frame.left) * (width / frame.width), (event.clientY - frame.top) * (height / frame.height)];
    };
    if (framed) {
      picture.addEventListener("pointerdown", (event) => (start = at(event)));
      picture.addEventListener("pointermove", (event) => {
        if (!start || !event.buttons) return;
        const [a, b] = at(event);
        box.removeAttribute("hidden");
        filled(box, { x: Math.min(a, start[0]), y: Math.min(b, start[1]), width: Math.abs(a - start[0]), height: Math.abs(b - start[1]) }, []);
      });
      picture.addEventListener("pointerup", (event) => {
        const [[a, b], from] = [at(event), start];
        start = null;
        if (!from || box.hasAttribute("hidden") || Math.abs(a - from[0]) + Math.abs(b - from[1]) < 8) return;
        const between = (value, one, other) => value >= Math.min(one, other) && value <= Math.max(one, other);
        framed(inside.filter((mark) => between(x(mark.at[0]), a, from[0]) && between(y(mark.at[1]), b, from[1])));
      });
    }
    return { picture, outside: marks.length - inside.length };
  }

  // ---- roofline -------------------------------------------------------------------------------------------------------
  function drawRoofline() {
    const roofs = page.rooflines.filter((roof) => roof.ceilings);
    const clear = el("button", { type: "button", hidden: true, click: () => brushed(null) }, "Show all operators again");
    const part = section("roofline", roofs.length ? "Roofline" : "Rates", true, clear);
    const points = page.rooflines.flatMap((roof, at) => roof.points.map((point) => ({ ...point, roof: at }))).sort((a, b) => b.rates.time_us - a.rates.time_us);
    const all = sum(points.map((point) => point.rates.time_us));
    const isTwo = points.some((point) => point.before);
    const intensity = (rates) => rates.tflops / rates.tb_per_s;
    const attainable = ({ ceilings }, at) => Math.min(ceilings.peak_tflops, (ceilings.bandwidth_gb_per_s * at) / 1e3);
    const ridge = ({ ceilings }) => (ceilings.peak_tflops * 1e3) / ceilings.bandwidth_gb_per_s;
    const ofRoof = (point) => {
      const roof = page.rooflines[point.roof];
      return roof.ceilings && point.rates.tflops > 0 ? percent(point.rates.tflops, attainable(roof, intensity(point.rates))) : "";
    };
    /** Names of lines at these heights, below each other where these are close. */
    function named(lines, { y, right }) {
      let above = -Infinity;
      return lines.sort(([a], [b]) => b - a).map(([height, text]) => {
        above = Math.max(y(height) - 5, above + 14);
        return label(right, above, text, { "text-anchor": "end", class: "halo", "pointer-events": "none" });
      });
    }
    const panels = [
      {
        title: "Operators by arithmetic intensity and achieved rate; figures in the table below",
        of: (rates) => [intensity(rates), rates.tflops],
        axes: [{ title: "FLOP per byte", format: significant }, { title: "TFLOP/s", format: significant }],
        spans: [roofs.flatMap((roof) => [ridge(roof) / 50, ridge(roof) * 2]), roofs.flatMap(({ ceilings }) => [ceilings.peak_tflops / 500, ceilings.peak_tflops])],
        lines: (scale) => [roofs.map((roof) => {
          const { x, y, x0, x1, y0 } = scale;
          const first = Math.max(x0, (y0 * 1e3) / roof.ceilings.bandwidth_gb_per_s);
          return svg("path", { class: "roof", d: [first, clamp(ridge(roof), first, x1), x1].map((at, place) => `${place ? "L" : "M"}${x(at)},${y(attainable(roof, at))}`).join("") });
        }), named(roofs.map((roof) => [roof.ceilings.peak_tflops, `${roof.title}: ${significant(roof.ceilings.peak_tflops)} TFLOP/s from ${significant(ridge(roof))} FLOP/B up`]), scale)],
      },
      {
        title: "Operators by bytes per call and achieved bandwidth; figures in the table below",
        of: (rates) => [rates.bytes, rates.tb_per_s],
        axes: [{ title: "bytes per call", format: size }, { title: "TB/s", format: significant }],
        spans: [[], roofs.map(({ ceilings }) => ceilings.bandwidth_gb_per_s / 1e3)],
        lines: (scale) => {
          const heights = [...new Set(roofs.map(({ ceilings }) => ceilings.bandwidth_gb_per_s / 1e3))];
          return [heights.map((height) => svg("path", { class: "roof", d: `M${scale.x(scale.x0)},${scale.y(height)}H${scale.x(scale.x1)}` })),
            named(heights.map((height) => [height, `memory: ${significant(height)} TB/s`]), scale)];
        },
      },
    ].map((panel) => ({ ...panel, body: el("div", {}) }));
    const about = el("figcaption", { class: "note" });
    const legend = el("ul", { class: "legend" });
    part.append(el("figure", {}, el("div", { class: "panels" }, panels.map((panel) => panel.body)), legend, about,
      twin(["operator", "kind of work", "dims", "bytes", "FLOP/B", "TFLOP/s", "TB/s", "% of roof", "time", "calls", ...(isTwo ? ["TFLOP/s before", "TB/s before", "time before"] : [])],
        () => points.map((point) => [point.name, point.category, point.dims, size(point.rates.bytes), significant(intensity(point.rates)), significant(point.rates.tflops), significant(point.rates.tb_per_s),
          ofRoof(point), time(point.rates.time_us * 1e3), whole(point.calls),
          ...(point.before ? [significant(point.before.tflops), significant(point.before.tb_per_s), time(point.before.time_us * 1e3)] : [])]))));
    const said = (rates) => `${significant(rates.tflops)} TFLOP/s, ${significant(rates.tb_per_s)} TB/s, ${time(rates.time_us * 1e3)}`;
    const tip = (point) => [point.name, point.category, point.dims, point.before && `before: ${said(point.before)}`, said(point.rates), ofRoof(point) && `${ofRoof(point)} of the roof`,
      `${significant(intensity(point.rates))} FLOP/B, ${size(point.rates.bytes)} per call, ${whole(point.calls)} ${point.calls === 1 ? "call" : "calls"} (${page.rooflines[point.roof].title})`].filter(Boolean).join("\n");
    function draw() {
      clear.hidden = !brush;
      let outside = 0;
      for (const { of, body, ...panel } of panels) {
        const marks = points.filter((point) => of(point.rates).every((value) => value > 0)).map((point) => {
          const [at, before] = [of(point.rates), point.before && of(point.before)];
          return {
            at, before: before?.every((value) => value > 0) ? before : null, weight: point.rates.time_us, shape: point.roof, name: point.name,
            fill: before ? (at[1] < before[1] ? WORSE : BETTER) : look(point.category).fill,
            faded: brush && !brush.has(point.name), click: () => brushed(new Set([point.name])), tip: () => tip(point),
          };
        });
        body.hidden = marks.length === 0;
        if (body.hidden) continue;
        const made = logScatter(roomOf(body), { ...panel, marks, framed: (inside) => brushed(inside.length ? new Set(inside.map((mark) => mark.name)) : null) });
        outside = Math.max(outside, made.outside);
        body.replaceChildren(made.picture);
      }
      const categories = new Map();
      for (const point of points) categories.set(point.category, (categories.get(point.category) ?? 0) + point.rates.time_us);
      legend.replaceChildren(...(isTwo ? [colourKey(BETTER, "↑ faster in the second run"), colourKey(WORSE, "↓ slower in the second run")] : [...categories].map(([category, us]) => el("li", {}, swatch(category), category, el("b", {}, percent(us, all))))),
        ...(page.rooflines.length > 1 ? page.rooflines.map((roof, at) => shapeKey(at, roof.title)) : []));
      about.textContent = `Each mark is an operator with one set of arguments; the area shows its time${isTwo ? ", the arrow starts where it was in the first run" : ""}. Drag a box around marks to show only their table rows.` +
        (outside ? ` ${whole(outside)} more ${outside === 1 ? "mark" : "marks"}, each with less than 0.05% of this time, ${outside === 1 ? "lies" : "lie"} outside the chart.` : "");
    }
    draw();
    listeners.push(draw);
  }
  /** Operators that were chosen in the roofline; null for all. */
  let brush = null;
  function brushed(names) {
    brush = names;
    redraw();
    tables?.refresh();
  }

  // ---- communication ----------------------------------------------------------------------------------------------------
  function drawCommunication() {
    const { note, points, ranks } = page.communication;
    const part = section("communication", "Communication", true);
    const [exchange, waits] = [el("figure", {}), el("figure", {})];
    part.append(exchange, waits);
    const of = (name) => [...new Set(points.map((point) => point[name]))];
    const [names, groups] = [of("name"), of("group")];
    const colour = (name) => SERIES[names.indexOf(name) % SERIES.length];
    function draw() {
      if (points.length) {
        const { picture } = logScatter(Math.min(820, roomOf(exchange)), {
          title: "Collectives by message size and bus bandwidth; figures in the table below",
          axes: [{ title: "message size", format: size }, { title: "bus bandwidth, GB/s", format: significant }], spans: [[], []],
          marks: points.map((point) => ({
            at: [point.bytes, point.gb_per_s], weight: point.time_ms, shape: groups.indexOf(point.group), fill: colour(point.name),
            tip: () => `${point.name}\n${point.group}\n${size(point.bytes)}, ${significant(point.gb_per_s)} GB/s\n${whole(point.count)} ${point.count === 1 ? "call" : "calls"}, ${time(point.time_ms * 1e6)}`,
          })),
        });
        exchange.replaceChildren(picture, el("ul", { class: "legend" }, names.map((name) => colourKey(colour(name), name)), groups.length > 1 ? groups.slice(0, 12).map((group, at) => shapeKey(at, group)) : []),
          el("figcaption", { class: "note" }, `Each mark stands for all collectives of one kind, group and size; the area shows their time. ${note}`),
          twin(["collective", "group", "message size", "bus bandwidth", "count", "time"], () => points.map((point) =>
            [point.name, point.group, size(point.bytes), `${significant(point.gb_per_s)} GB/s`, whole(point.count), time(point.time_ms * 1e6)])));
      }
      if (ranks) waits.replaceChildren(el("h3", {}, ranks.title), ...stackedBars(ranks, roomOf(waits), false));
    }
    draw();
    listeners.push(draw);
  }

  // ---- tables ---------------------------------------------------------------------------------------------------------
  const text = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? (Array.isArray(value) && value.every((one) => typeof one === "string") ? value.join(", ") : JSON.stringify(value)) : String(value));
  const isNumeric = (column) => ["whole", "number", "identifier"].includes(column.kind);
  const PRESETS = [
    ["main columns", ["name", "headline", "figure"]],
    ["with details", ["name", "headline", "figure", "detail", "spread"]],
    ["all columns", ["name", "headline", "figure", "detail", "spread", "provenance"]],
  ];
  const ROW = 27;
  let tables = null;

  /** How a column shows its numbers: as many decimals in each row, so that digits stand below each other. */
  function shown(column) {
    if (column.kind === "identifier") return (value) => text(value);
    const numbers = column.cells.filter((value) => typeof value === "number");
    const largest = Math.max(0, ...numbers.slice(0, 2000).map(Math.abs));
    const digits = column.kind === "whole" || largest === 0 ? 0 : column.unit === "%" ? (largest < 1 ? 2 : 1) : largest >= 1e4 ? 0 : largest >= 1000 ? 1 : largest >= 100 ? 2 : largest >= 0.1 ? 3 : 6;
    return (value) => (typeof value === "number" ? fixed(value, digits) : text(value));
  }

  function matcher(filter) {
    if (!filter) return () => true;
    const pattern = /^\/(.+)\/$/.exec(filter);
    if (pattern) {
      try {
        const expression = new RegExp(pattern[1], "i");
        return (value) => expression.test(value);
      } catch {
        return null;
      }
    }
    const lower = filter.toLowerCase();
    return (value) => value.toLowerCase().includes(lower);
  }

  function drawTables() {
    const part = section("tables", "Tables", true);
    part.classList.add("long");
    const list = el("div", { class: "contents", role: "navigation", "aria-label": "Tables" });
    const panel = el("div", {});
    const paper = el("div", { class: "paper-only" });
    part.append(el("div", { class: "tables screen-only" }, list, panel), paper);
    let current = Math.max(0, contents.findIndex((entry) => entry.name === (view.get("table") ?? preferred())));
    const buttons = contents.map((entry, place) => el("button", { type: "button", click: () => choose(place, { filter: view.get("filter") ? "" : undefined }) },
      el("span", {}, entry.name), el("span", { class: "count" }, whole(entry.rows))));
    list.append(...buttons);
    function preferred() {
      return ["ops_summary", "kernel_summary", "ranks_overview", "diff_units", "hlo_stats", "ops"].find((name) => contents.some((entry) => entry.name === name)) ?? contents[0]?.name;
    }
    /** Whether the table has operators that were chosen in the roofline. */
    let isBrushed = false;
    let state = { sort: view.get("sort") ?? "", down: view.get("down") === "1", filter: view.get("filter") ?? "", preset: clamp(Number(view.get("columns") ?? 0), 0, 2), only: new Map() };

    async function choose(place, changes) {
      current = place;
      state = { ...state, sort: "", down: false, only: new Map(), ...Object.fromEntries(Object.entries(changes ?? {}).filter(([, value]) => value !== undefined)) };
      await draw();
    }
    function keep() {
      remember({ table: contents[current].name, sort: state.sort, down: state.down ? 1 : undefined, filter: state.filter, columns: state.preset || undefined });
    }
    /** Rows that the filters leave, in order. */
    function rowsOf(table) {
      const matches = matcher(state.filter) ?? (() => false);
      const texts = table.columns.filter((column) => !isNumeric(column) || column.kind === "identifier");
      const searched = texts.length ? texts : table.columns;
      const only = [...state.only].filter(([, value]) => value !== "").map(([name, value]) => [table.columns.find((column) => column.name === name), value]);
      const named = table.columns.filter((column) => column.kind === "text");
      isBrushed = brush !== null && named.some((column) => column.cells.some((cell) => brush.has(cell)));
      const rows = [];
      const count = table.columns[0]?.cells.length ?? 0;
      for (let row = 0; row < count; row++) {
        if (only.some(([column, value]) => text(column.cells[row]) !== value)) continue;
        if (isBrushed && !named.some((column) => brush.has(column.cells[row]))) continue;
        if (state.filter && !searched.some((column) => matches(text(column.cells[row])))) continue;
        rows.push(row);
      }
      const by = table.columns.find((column) => column.name === state.sort);
      if (by) {
        const direction = state.down ? -1 : 1;
        rows.sort((a, b) => {
          const [left, right] = [by.cells[a], by.cells[b]];
          if (left === null || right === null) return (left === null) - (right === null) || a - b;
          const order = typeof left === "number" && typeof right === "number" ? left - right : text(left).localeCompare(text(right), "en", { numeric: true });
          return direction * order || a - b;
        });
      }
      return rows;
    }
    function columnsOf(table) {
      const roles = PRESETS[state.preset][1];
      const columns = table.columns.filter((column) => roles.includes(column.role) && (state.preset > 0 || column.cells.some((cell) => cell !== null)));
      return columns.length ? columns : table.columns;
    }
    function csv(table) {
      const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
      // What a spreadsheet would calculate gets an apostrophe in front, as in our CSV files.
      const safe = (value) => (typeof value === "string" && /^[=+@-]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : text(value));
      const lines = [table.columns.map((column) => quoted(column.title)).join(",")];
      for (const row of rowsOf(table)) lines.push(table.columns.map((column) => quoted(safe(column.cells[row]))).join(","));
      return `${lines.join("\n")}\n`;
    }

    async function draw() {
      if (!contents[current]) return;
      buttons.forEach((button, place) => (place === current ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current")));
      const table = await openTable(current);
      const said = el("span", { class: "note", role: "status" });
      const filter = el("input", { type: "search", value: state.filter, placeholder: "Filter rows: text, or /regular expression/", "aria-label": "Filter rows", spellcheck: "false" });
      filter.addEventListener("input", () => ((state.filter = filter.value), keep(), fill()));
      const choosers = table.columns.filter((column) => /categor|phase|stream|status|kind|bound|device|topic|state|type/i.test(column.name) && ["text", "names", "identifier"].includes(column.kind))
        .map((column) => [column, [...new Set(column.cells.map(text))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }))])
        .filter(([, values]) => values.length > 1 && values.length <= 30).slice(0, 3)
        .map(([column, values]) => el("label", {}, column.title, el("select", { change: (event) => (state.only.set(column.name, event.target.value), fill()) },
          el("option", { value: "" }, "all"), values.map((value) => el("option", { value, selected: state.only.get(column.name) === value }, shortened(value, 40) || "(none)")))));
      const copied = el("button", { type: "button", click: async () => {
        try {
          await navigator.clipboard.writeText(csv(table));
          said.textContent = "Copied.";
        } catch {
          said.textContent = "The browser blocks copying: use Download.";
        }
      } }, "Copy CSV");
      const saved = el("button", { type: "button", click: () => {
        const address = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
        el("a", { href: address, download: `${table.name}.csv` }).click();
        setTimeout(() => URL.revokeObjectURL(address), 10000);
      } }, "Download");
      const presets = el("label", {}, "columns", el("select", { change: (event) => ((state.preset = Number(event.target.value)), keep(), draw()) },
        PRESETS.map(([name], at) => el("option", { value: at, selected: at === state.preset }, name))));
      const columns = columnsOf(table);
      const formats = columns.map(shown);
      const head = el("tr", {}, columns.map((column) => el("th", {
        scope: "col", class: isNumeric(column) && column.kind !== "identifier" ? "figure-cell" : undefined, title: [column.description, ...column.caveats].join("\n\n"),
      }, el("button", { type: "button", click: () => sortBy(column) }, column.title))));
      const body = el("tbody", {});
      const foot = el("tfoot", {});
      const frame = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table ${table.name}` },
        el("table", { "aria-rowcount": table.rows + 1 }, el("thead", {}, head), body, foot));
      const aside = el("div", { class: "details", hidden: true });
      const caveats = table.caveats.length ? el("p", { class: "note" }, table.caveats.join(" ")) : null;
      const picture = table.chart ? chartOf(table) : null;
      let rows = [];
      let chosen = new Set();
      let picked = -1;
      function sortBy(column) {
        const first = isNumeric(column);
        if (state.sort !== column.name) [state.sort, state.down] = [column.name, first];
        else if (state.down === first) state.down = !first;
        else state.sort = "";
        keep();
        fill();
      }
      function rowOf(row, at) {
        return el("tr", { class: "pick", "aria-rowindex": at + 2, "aria-selected": String(row === picked), "data-row": row, click: () => details(row) }, columns.map((column, index) => {
          const value = column.cells[row];
          const numeric = isNumeric(column) && column.kind !== "identifier";
          const good = column.better === "less" ? (value > 0 ? "worse" : value < 0 ? "better" : "") : column.better === "above one" && value !== null ? (value < 1 ? "worse" : value > 1 ? "better" : "") : "";
          const isShare = column.unit === "%" && typeof value === "number" && value >= 0 && value <= 100 && column.role !== "spread" && !column.better && !/cumulative/i.test(column.name);
          const cell = el("td", { class: [numeric && "figure-cell", isShare && "share", good, column.kind === "nested" && "code"].filter(Boolean).join(" ") || undefined, title: numeric ? undefined : text(value) || undefined },
            numeric ? formats[index](value) : shortened(text(value), 90));
          if (isShare) cell.style.setProperty("--share", `${value}%`);
          return cell;
        }));
      }
      function details(row) {
        picked = row;
        aside.hidden = false;
        aside.replaceChildren(el("dl", {}, table.columns.filter((column) => column.cells[row] !== null).map((column) =>
          [el("dt", { title: column.description }, column.title), el("dd", { class: column.kind === "nested" || column.kind === "text" ? "code" : undefined }, isNumeric(column) ? shown(column)(column.cells[row]) : text(column.cells[row]))])));
        draws();
      }
      /** Only rows in view are elements; what is above and below is room. */
      function draws() {
        const first = clamp(Math.floor(frame.scrollTop / ROW) - 20, 0, Math.max(0, rows.length - 1));
        const last = Math.min(rows.length, first + Math.ceil(600 / ROW) + 40);
        const room = (count) => {
          const cell = el("td", { colspan: columns.length });
          cell.style.height = `${count * ROW}px`;
          return el("tr", { class: "space", "aria-hidden": "true" }, cell);
        };
        body.replaceChildren(...[first > 0 && room(first), ...rows.slice(first, last).map((row, at) => rowOf(row, first + at)), last < rows.length && room(rows.length - last),
          last === rows.length && table.left_out > 0 && el("tr", { class: "more" }, el("td", { colspan: columns.length }, `… and ${whole(table.left_out)} more ${table.left_out === 1 ? "row" : "rows"} in the workbook, CSV and JSON`))].filter(Boolean));
      }
      function fill() {
        rows = rowsOf(table);
        chosen = new Set(rows);
        const all = table.columns[0]?.cells.length ?? 0;
        [...head.children].forEach((cell, at) => (columns[at].name === state.sort ? cell.setAttribute("aria-sort", state.down ? "descending" : "ascending") : cell.removeAttribute("aria-sort")));
        const isBad = state.filter && matcher(state.filter) === null;
        const scope = isBrushed ? ", only operators selected in the roofline" : brush ? "; no operator selected in the roofline is in this table" : "";
        said.textContent = isBad ? "Not a valid regular expression." : rows.length === all ? `${whole(table.rows)} ${table.rows === 1 ? "row" : "rows"}${scope}` : `${whole(rows.length)} of ${whole(table.rows)} rows${scope}`;
        frame.scrollTop = 0;
        foot.replaceChildren(...(rows.length > 1 && !table.left_out ? [totals()] : []));
        draws();
      }
      /** The sums of the rows that are shown, in columns that have a sum. */
      function totals() {
        const sums = columns.map((column) => (column.sums ? sum(column.cells.filter((_, row) => chosen.has(row)).filter((value) => typeof value === "number")) : null));
        return el("tr", {}, columns.map((column, at) => el("td", { class: isNumeric(column) ? "figure-cell" : undefined }, sums[at] !== null ? formats[at](sums[at]) : at === 0 ? "total" : "")));
      }
      let waiting = false;
      frame.addEventListener("scroll", () => {
        if (waiting) return;
        waiting = true;
        requestAnimationFrame(() => ((waiting = false), draws()));
      });
      panel.replaceChildren(...[el("h3", {}, table.name), caveats, picture, el("div", { class: "tools" }, filter, choosers, presets, copied, saved, said), frame, aside].filter(Boolean));
      fill();
    }
    tables = {
      refresh: draw,
      show: async (name, filter) => {
        const place = name ? contents.findIndex((entry) => entry.name === name) : await holder(filter);
        if (place < 0) return;
        if (brush) brushed(null);
        await choose(place, { filter });
        keep();
        reveal(part);
      },
    };
    /** The first table that has a row with this text, those for people before those of details. */
    async function holder(filter) {
      const order = ["kernel_summary", "ops_summary", "kernel_details", "ops_all", "unified_perf_summary"];
      const places = [...order.map((name) => contents.findIndex((entry) => entry.name === name)).filter((place) => place >= 0), current, ...contents.keys()];
      for (const place of places) {
        const table = await openTable(place);
        if (table.columns.some((column) => column.kind !== "number" && column.kind !== "whole" && column.cells.some((cell) => text(cell).includes(filter)))) return place;
      }
      return current;
    }
    whenSeen(part, draw);
    beforePrint.push(() => {
      if (contents[current] && opened.has(current)) paper.replaceChildren(...[...opened.values()].map((table) => {
        const columns = columnsOf(table);
        const rows = table === opened.get(current) ? rowsOf(table) : [...(table.columns[0]?.cells.keys() ?? [])];
        const formats = columns.map(shown);
        return el("div", {}, el("h3", {}, table.name), el("table", {}, el("thead", {}, el("tr", {}, columns.map((column) => el("th", {}, column.title)))),
          el("tbody", {}, rows.slice(0, 50).map((row) => el("tr", {}, columns.map((column, at) => el("td", { class: isNumeric(column) ? "figure-cell" : undefined }, formats[at](column.cells[row]))))))),
        rows.length > 50 ? el("p", { class: "note" }, `… and ${whole(rows.length + table.left_out - 50)} more ${rows.length + table.left_out === 51 ? "row" : "rows"}`) : null);
      }));
    });
  }
  const showRows = (table, row) => tables?.show(table, row);

  /** The chart that a table comes with, drawn from its cells. */
  function chartOf(table) {
    const { chart } = table;
    const column = (name) => table.columns.find((one) => one.name === name);
    const [names, values, at] = [column(chart.categories), column(chart.values), column(chart.x)];
    const box = el("figure", { class: "chart" }, el("h3", {}, chart.title));
    requestAnimationFrame(() => {
      const picture = values?.cells.some((value) => value) && (chart.shape === "bars" ? bars() : chart.shape === "waterfall" ? falls() : chart.shape === "lines" ? lines() : columns());
      picture ? box.append(picture) : box.remove();
    });
    const axis = (low, high, width, height) => ticks(low, high, 5).map((value) => {
      const y = height - 26 - ((value - low) / (high - low)) * (height - 42);
      return [svg("line", { class: "grid", x1: 60, x2: width, y1: y, y2: y }), label(54, y + 4, significant(value), { "text-anchor": "end", class: "soft" })];
    });
    function bars() {
      const rows = [...values.cells.keys()].filter((row) => typeof values.cells[row] === "number").slice(0, Math.min(chart.most, 20));
      const told = chart.told_by.map(column).filter(Boolean);
      const width = roomOf(box) - 26;
      const named = clamp(width * 0.42, 100, 420);
      const largest = Math.max(1e-12, ...rows.map((row) => Math.abs(values.cells[row])));
      return rows.length && drawing(width, rows.length * 20, `${chart.title}, as in the table`, rows.map((row, place) => {
        const name = [text(names.cells[row]), ...told.map((one) => text(one.cells[row]))].filter(Boolean).join(" ");
        return [label(named - 6, place * 20 + 14, shortened(name, Math.floor(named / 6.8)), { "text-anchor": "end" }),
          svg("rect", { x: named, y: place * 20 + 2, height: 16, width: Math.max(1, (Math.abs(values.cells[row]) / largest) * (width - named - 80)), fill: look(categoryOf(row)).fill, ...tipped(() => `${name}\n${chart.axis}: ${significant(values.cells[row])}`) }),
          label(named + (Math.abs(values.cells[row]) / largest) * (width - named - 80) + 5, place * 20 + 14, significant(values.cells[row]), { class: "soft" })];
      }));
    }
    function categoryOf(row) {
      const found = table.columns.find((one) => /categor/i.test(one.name) && ["text", "names"].includes(one.kind));
      return text((found ?? names).cells[row]).split(", ")[0];
    }
    function columns() {
      const rows = [...values.cells.keys()].slice(0, Math.min(chart.most, 800));
      const groups = column(chart.series[0]);
      const [width, height] = [roomOf(box) - 26, 180];
      const high = Math.max(1e-12, ...rows.map((row) => values.cells[row] ?? 0));
      const wide = (width - 62) / rows.length;
      return drawing(width, height, `${chart.title}, as in the table`, axis(0, high, width, height), rows.map((row, place) => {
        const size = ((values.cells[row] ?? 0) / high) * (height - 42);
        const group = groups ? text(groups.cells[row]) : "";
        return svg("rect", { x: 62 + place * wide, y: height - 26 - size, width: Math.max(0.7, wide - (wide > 4 ? 1 : 0)), height: size, fill: groups ? look(group).fill : "var(--accent)", ...tipped(() => `${text(names.cells[row])} ${group}\n${chart.axis}: ${text(values.cells[row])}`) });
      }), label(width, height - 8, chart.x_axis || chart.categories, { "text-anchor": "end", class: "soft" }), label(62, 10, chart.axis, { class: "soft" }));
    }
    function lines() {
      const series = [values, ...chart.series.map(column).filter(Boolean)];
      const [width, height] = [roomOf(box) - 26, 200];
      const high = Math.max(1e-12, ...series.flatMap((one) => one.cells.filter((value) => typeof value === "number")));
      const xs = at.cells.filter((value) => typeof value === "number");
      const end = Math.max(1e-12, ...xs);
      const by = new Map();
      names.cells.forEach((name, row) => by.set(text(name), [...(by.get(text(name)) ?? []), row]));
      const drawn = [...by].slice(0, 12).flatMap(([name, rows]) => series.map((one) => [series.length > 1 ? `${name} ${one.title}` : name, one, rows]));
      return el("div", {}, drawing(width, height, `${chart.title}, as in the table`, axis(0, high, width, height),
        drawn.map(([, one, rows], place) => svg("path", { class: "line", stroke: SERIES[place % SERIES.length], d: rows.filter((row) => one.cells[row] !== null && at.cells[row] !== null).map((row, first) => `${first ? "L" : "M"}${(62 + (at.cells[row] / end) * (width - 66)).toFixed(1)},${(height - 26 - (one.cells[row] / high) * (height - 42)).toFixed(1)}`).join("") })),
        label(width, height - 8, chart.x_axis, { "text-anchor": "end", class: "soft" }), label(62, 10, chart.axis, { class: "soft" })),
      el("ul", { class: "legend" }, drawn.map(([name], place) => {
        const mark = el("span", { class: "swatch" });
        mark.style.background = SERIES[place % SERIES.length];
        return el("li", {}, mark, name);
      })));
    }
    function falls() {
      const [base, rise, fall] = chart.series.map(column);
      return steps(names.cells.map((name, row) => {
        const [up, down, from] = [rise.cells[row] ?? 0, fall.cells[row] ?? 0, base.cells[row] ?? 0];
        return up || down ? { name: text(name), low: from, high: from + up + down, change: up - down } : { name: text(name), low: 0, high: values.cells[row] ?? 0, change: null };
      }), roomOf(box) - 26, significant, chart.title);
    }
    return box;
  }

  /** Columns that stand on each other: whole ones, and between them what was added or taken away. */
  function steps(columns, width, format, title) {
    const shift = columns.filter((one) => one.change !== null);
    const top = Math.max(...columns.map((one) => one.high));
    // Small changes of long times would not be seen from zero.
    const least = shift.length ? Math.min(...columns.map((one) => (one.change === null ? one.high : one.low))) : 0;
    const floor = least > 0.6 * top ? Math.max(0, least - (top - least) * 1.5) : 0;
    const note = floor > 0 ? el("p", { class: "note" }, "The axis does not start at zero.") : null;
    const fillOf = ({ change }) => (change === null ? "var(--mixed)" : change > 0 ? WORSE : BETTER);
    const textOf = ({ change, high }) => (change === null ? format(high) : (change > 0 ? "+" : "") + format(change));
    if (width / columns.length <= 44) {
      // Where names have no room below columns, these lie on their sides.
      const named = width * 0.45;
      const x = (value) => named + ((Math.max(value, floor) - floor) / (top - floor || 1)) * (width - named - 76);
      return el("div", {}, drawing(width, columns.length * 20, `${title}, as in the table`, columns.map((one, at) => [
        label(named - 6, at * 20 + 14, shortened(one.name, Math.floor(named / 6.8)), { "text-anchor": "end" }),
        svg("rect", { x: x(one.low), y: at * 20 + 2, height: 16, width: Math.max(1, x(one.high) - x(one.low)), fill: fillOf(one), ...tipped(() => `${one.name}\n${textOf(one)}`) }),
        label(x(one.high) + 5, at * 20 + 14, textOf(one), { class: "soft" })])), note);
    }
    const height = 260;
    const y = (value) => 20 + (1 - (value - floor) / (top - floor || 1)) * (height - 90);
    const wide = width / columns.length;
    return el("div", {}, drawing(width, height, `${title}, as in the table`, columns.map((one, at) => {
      const [high, low] = [y(Math.max(one.high, floor)), y(Math.max(one.low, floor))];
      return [svg("rect", { x: at * wide + 3, y: high, width: Math.max(1, wide - 6), height: Math.max(1, low - high), fill: fillOf(one), ...tipped(() => `${one.name}\n${textOf(one)}`) }),
        label(at * wide + wide / 2, high - 4, textOf(one), { "text-anchor": "middle" }),
        wrapped(one.name, Math.floor(wide / 7.3)).slice(0, 3).map((line, row) => label(at * wide + wide / 2, height - 52 + row * 15, line, { "text-anchor": "middle", class: "soft" }))];
    })), note);
  }
  function wrapped(text, most) {
    const lines = [""];
    for (const word of text.split(/[ _]/)) {
      const last = lines.length - 1;
      if (lines[last] && lines[last].length + word.length + 1 > most) lines.push(shortened(word, most));
      else lines[last] = shortened(lines[last] ? `${lines[last]} ${word}` : word, most);
    }
    return lines;
  }

  // ---- two runs -------------------------------------------------------------------------------------------------------
  function drawWaterfall() {
    const { title, runs, totals_ns, steps: changes } = page.waterfall;
    const part = section("waterfall", "What changed", false);
    const body = el("figure", {});
    part.append(el("p", { class: "note" }, title), body, twin(["part", "time"], () => [[runs[0], time(totals_ns[0])], ...changes.map(([name, ns]) => [name, signed(ns)]), [runs[1], time(totals_ns[1])]]));
    const draw = () => {
      let at = totals_ns[0];
      const columns = [{ name: runs[0], low: 0, high: at, change: null }];
      for (const [name, ns] of changes) {
        columns.push({ name, low: Math.min(at, at + ns), high: Math.max(at, at + ns), change: ns });
        at += ns;
      }
      columns.push({ name: runs[1], low: 0, high: totals_ns[1], change: null });
      body.replaceChildren(steps(columns, roomOf(body), time, title));
    };
    draw();
    listeners.push(draw);
  }

  /** How pieces of work compare: the badge, and whether the programs differ, not only the kernels. */
  const CHANGES = {
    same: ["same kernels", false], kernels: ["different kernels", false], structure: ["different code", true], moved: ["moved", true],
    onlya: ["A only", true], onlyb: ["B only", true], mixed: ["changed", false],
  };
  /** The work of two runs as a tree of modules: what is below a row counts for it. */
  function drawDifference() {
    const { runs, units, left_out } = page.difference;
    const part = section("difference", "What differs", false);
    part.classList.add("long");
    /** Rows below one that are shown before the others are asked for. */
    const MOST = 30;
    const delta = (row) => row.times_ns[1] - row.times_ns[0];
    const kinds = [
      ["all differences", (unit) => unit.status !== "same" || delta(unit) !== 0], ["slower only", (unit) => delta(unit) > 0],
      ["structure only", (unit) => CHANGES[unit.status][1]], ["everything", () => true],
    ];
    let kind = clamp(Number(view.get("diff") ?? 0), 0, kinds.length - 1);
    let least = Math.max(0, Number(view.get("least") ?? 0)) || 0;
    const opened = new Set();
    let focused = "";
    const tree = el("div", { class: "units", role: "tree", "aria-label": `Work of ${runs[0]} and ${runs[1]}` });
    const note = el("p", { class: "note", role: "status" });
    const keep = () => (remember({ diff: kind || undefined, least: least || undefined }), draw());
    part.append(el("p", { class: "note" }, `A is ${runs[0] === "A" ? "the first run" : runs[0]}, B is ${runs[1] === "B" ? "the second" : runs[1]}. Each row sums the time of everything below it; orange is slower in B, blue faster. Arrow keys move, open and close.`),
      el("div", { class: "tools" }, choice("Show", kinds.map(([name]) => name), () => kind, (at) => ((kind = at), keep())),
        el("label", {}, "minimum change, in µs", el("input", { type: "number", min: 0, step: "any", value: least, input: (event) => ((least = Math.max(0, Number(event.target.value)) || 0), keep()) }))),
      el("div", { class: "unit units-head", "aria-hidden": "true" }, ["", "", "A", "B", "B − A", ""].map((text, at) => el("span", { class: at === 2 || at === 3 ? "number hide" : at > 3 ? "number" : undefined }, text))),
      tree, note,
      twin(["modules", "work", "times", "comparison", "A", "B", "B − A"], () => units.map((unit) =>
        [unit.modules.join(" › "), unit.name, whole(unit.count), CHANGES[unit.status][0], time(unit.times_ns[0]), time(unit.times_ns[1]), signed(delta(unit))])));

    /** The tree of the units that are chosen. */
    function grown() {
      const root = { key: "", name: "", level: 0, children: new Map(), times_ns: [0, 0] };
      for (const [place, unit] of units.entries()) {
        if (!kinds[kind][1](unit) || Math.abs(delta(unit)) < least * 1e3) continue;
        let at = root;
        const add = (key, row) => {
          if (!at.children.has(key)) at.children.set(key, { key: `${at.key}/${key}`, level: at.level + 1, parent: at, children: new Map(), times_ns: [0, 0], ...row });
          at = at.children.get(key);
          for (const side of [0, 1]) at.times_ns[side] += unit.times_ns[side];
          at.status = at.status === undefined || at.status === unit.status ? unit.status : "mixed";
        };
        for (const module of unit.modules.length ? unit.modules : ["outside modules"]) add(`module ${module}`, { name: module });
        add(`unit ${place}`, { name: unit.name, unit, count: unit.count });
        if (unit.kernels.some((names) => names.length)) at.children.set("kernels", { key: `${at.key}/kernels`, level: at.level + 1, parent: at, children: new Map(), kernels: unit.kernels });
      }
      return root;
    }
    const childrenOf = (row) => [...row.children.values()].sort((a, b) => (a.kernels || b.kernels ? 0 : Math.abs(delta(b)) - Math.abs(delta(a))));
    function rowOf(row, place, all, largest) {
      const isOpen = opened.has(row.key);
      const attributes = { role: "treeitem", "aria-level": row.level, "aria-posinset": place + 1, "aria-setsize": all, "data-key": row.key, tabindex: row.key === focused ? 0 : -1 };
      const indent = (node) => ((node.style.paddingLeft = `${(row.level - 1) * 16}px`), node);
      if (row.kernels)
        return indent(el("div", { ...attributes, class: "kernels" }, runs.map((run, side) => el("div", {}, el("b", {}, `${["A", "B"][side]}: ${run}`),
          row.kernels[side].length ? row.kernels[side].map((name) => el("div", { class: "code" }, name)) : el("div", {}, "nothing")))));
      if (row.rest)
        return el("div", { ...attributes, class: "unit", click: () => toggle(row) }, indent(el("span", { class: "what" }, `… ${whole(row.rest.length)} smaller ${row.rest.length === 1 ? "change" : "changes"}, ${signed(sum(row.rest.map(delta)))} in total`)));
      const change = delta(row);
      const [badge] = CHANGES[row.status];
      const name = `${row.name}${row.count > 1 ? ` ×${whole(row.count)}` : ""}`;
      const wide = (Math.abs(change) / largest) * 80;
      return el("div", {
        ...attributes, class: "unit", "aria-expanded": row.children.size ? String(isOpen) : undefined, title: row.name,
        click: () => (focus(row.key), toggle(row)),
      },
      indent(el("span", { class: "what" }, el("span", { class: "twisty", "aria-hidden": "true" }, row.children.size ? (isOpen ? "▾" : "▸") : ""), el("span", {}, shortened(name, 130)))),
      el("span", { class: `badge ${change > 0 ? "worse" : change < 0 ? "better" : ""}` }, badge),
      el("span", { class: "number hide" }, time(row.times_ns[0])), el("span", { class: "number hide" }, time(row.times_ns[1])), el("span", { class: "number" }, signed(change)),
      svg("svg", { width: 164, height: 14, "aria-hidden": "true", class: "hide" }, svg("line", { class: "axis", x1: 82, x2: 82, y1: 0, y2: 14 }),
        svg("rect", { x: change > 0 ? 82 : 82 - wide, y: 2, width: wide, height: 10, fill: change > 0 ? WORSE : BETTER })));
    }
    let rows = [];
    function draw() {
      const root = grown();
      const first = childrenOf(root)[0];
      const largest = Math.max(1, ...[...root.children.values()].map((row) => Math.abs(delta(row))));
      rows = [];
      const nodes = [];
      const visit = (parent) => {
        const list = childrenOf(parent);
        const more = { key: `${parent.key}/more`, level: parent.level + 1, parent, children: new Map(), rest: list.slice(MOST) };
        if (more.rest.length > 1 && !opened.has(more.key)) list.splice(MOST, Infinity, more);
        list.forEach((row, place) => {
          rows.push(row);
          nodes.push([row, place, list.length]);
          if (opened.has(row.key)) visit(row);
        });
      };
      visit(root);
      if (!rows.some((row) => row.key === focused)) focused = first?.key ?? "";
      tree.replaceChildren(...nodes.map(([row, place, all]) => rowOf(row, place, all, largest)));
      tree.hidden = rows.length === 0;
      note.textContent = [rows.length ? "" : "No matching differences.", left_out[0] ? `${whole(left_out[0])} more ${left_out[0] === 1 ? "difference is" : "differences are"} only in the sheet diff_units (${signed(left_out[1])} in total).` : ""].filter(Boolean).join(" ");
    }
    function focus(key) {
      focused = key;
      for (const node of tree.children) node.tabIndex = node.dataset.key === key ? 0 : -1;
      [...tree.children].find((node) => node.dataset.key === key)?.focus();
    }
    function toggle(row) {
      if (!row.children.size && !row.rest) return;
      if (!opened.delete(row.key)) opened.add(row.key);
      draw();
      focus(row.rest ? childrenOf(row.parent)[MOST].key : row.key);
    }
    tree.addEventListener("keydown", (event) => {
      const at = rows.findIndex((row) => row.key === focused);
      const row = rows[at];
      if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
      const isOpen = opened.has(row.key);
      const go = (to) => to && focus(to.key);
      const keys = {
        ArrowDown: () => go(rows[at + 1]), ArrowUp: () => go(rows[at - 1]), Home: () => go(rows[0]), End: () => go(rows[rows.length - 1]),
        ArrowRight: () => (row.children.size && !isOpen ? toggle(row) : isOpen && go(rows[at + 1])), ArrowLeft: () => (isOpen ? toggle(row) : row.parent.key && go(row.parent)),
        Enter: () => toggle(row), " ": () => toggle(row),
      };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    whenSeen(part, () => {
      // The way down to the largest change is open.
      for (let row = childrenOf(grown())[0]; row && !row.unit && !row.kernels; row = childrenOf(row)[0]) opened.add(row.key);
      draw();
    });
  }

  // ---- how this was made ----------------------------------------------------------------------------------------------
  function drawMade() {
    const part = section("made", "How this report was made", true);
    part.append(el("div", { class: "details" }, el("dl", {}, page.made_by.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))));
    const meanings = el("details", { class: "twin" }, el("summary", {}, "What the columns mean"));
    meanings.addEventListener("toggle", async () => {
      if (!meanings.open || meanings.children.length > 1) return;
      for (const place of contents.keys()) {
        const table = await openTable(place);
        meanings.append(el("h3", {}, table.name), el("dl", {}, table.columns.map((column) => [el("dt", {}, column.name + (column.unit && column.unit !== "1" ? ` (${column.unit})` : "")), el("dd", {}, column.description)])));
      }
    });
    part.append(meanings);
  }

  // ---- all of it ------------------------------------------------------------------------------------------------------
  const beforePrint = [];
  let folded = [];
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.theme = "light";
    redraw();
    folded = [...main.querySelectorAll("details.part:not([open])")];
    folded.forEach((part) => (part.open = true));
    beforePrint.forEach((prepare) => prepare());
  });
  addEventListener("afterprint", () => (folded.forEach((part) => (part.open = false)), applyTheme()));
  document.body.append(el("a", { class: "skip", href: "#content" }, "Skip to the report"), main, tip);
  const theme = drawHead();
  main.prepend(links);
  if (page.bars.length) drawBars();
  if (page.waterfall) drawWaterfall();
  const waits = timeline?.lanes.length ? drawTimeline() : null;
  if (page.findings.length) drawFindings();
  if (page.difference) drawDifference();
  if (page.icicles.length) drawIcicle();
  if (page.rooflines.some((roof) => roof.points.length)) drawRoofline();
  if (page.communication) drawCommunication();
  if (contents.length) drawTables();
  drawMade();
  links.append(theme);
  // Where the bar stays in view, what is jumped to stands below it, whatever number of lines it has.
  new ResizeObserver(() => document.documentElement.style.setProperty("--bar-height",
    getComputedStyle(links).position === "sticky" ? `${links.offsetHeight}px` : "0px")).observe(links);
  await waits;
  let width = innerWidth;
  addEventListener("resize", () => innerWidth !== width && ((width = innerWidth), redraw()));
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
