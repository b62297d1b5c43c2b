"use strict";
// Filters over the questions; a question's detail and its pictures are made when it is first opened.
(function () {
  var at = function (id) { return document.getElementById(id); };
  if (!at("index")) return;
  var index = JSON.parse(at("index").textContent);
  var rows = Array.prototype.slice.call(document.querySelectorAll("details.q"));
  var fields = ["verdict", "stage", "slice", "text"];

  function fill(row) {
    var box = row.querySelector(".detail");
    if (box.childElementCount) return;
    box.innerHTML = JSON.parse(at("d" + row.id.slice(1)).textContent);
    box.querySelectorAll("img[data-picture]").forEach(function (img) {
      img.src = "data:image/webp;base64," + at(img.getAttribute("data-picture")).textContent;
    });
  }

  function filter() {
    var verdict = at("verdict").value, stage = at("stage").value, slice = at("slice").value;
    var words = at("text").value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
    rows.forEach(function (row, i) {
      var q = index[i];
      var ok = (!verdict || q.verdict === verdict) && (!stage || q.stage === stage) &&
        (!slice || q.slices.indexOf(Number(slice)) >= 0) &&
        words.every(function (word) { return q.text.indexOf(word) >= 0; });
      row.hidden = !ok;
      shown += ok;
    });
    at("count").textContent = shown + " of " + rows.length;
  }

  rows.forEach(function (row) {
    row.addEventListener("toggle", function () { if (row.open) fill(row); });
  });
  fields.forEach(function (name) { at(name).addEventListener("input", filter); });
  document.querySelector(".filters").addEventListener("submit", function (event) { event.preventDefault(); });
  function jump() {
    var row = /^#q\d+$/.test(location.hash) && at(location.hash.slice(1));
    if (row) { row.open = true; fill(row); row.scrollIntoView(); }
  }
  window.addEventListener("hashchange", jump);
  filter();
  jump();
})();
