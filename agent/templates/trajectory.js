"use strict";
// A fact and its boxes light up together.
(function () {
  function light(event, on) {
    var at = event.target.closest ? event.target.closest("[data-fact]") : null;
    if (!at) return;
    var run = at.closest(".run"), name = at.getAttribute("data-fact");
    run.querySelectorAll("[data-fact]").forEach(function (other) {
      if (other.getAttribute("data-fact") === name) other.classList.toggle("lit", on);
    });
  }
  document.addEventListener("mouseover", function (event) { light(event, true); });
  document.addEventListener("mouseout", function (event) { light(event, false); });
})();
