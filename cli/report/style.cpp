#include "style.hpp"

#include <fmt/format.h>

#include "palette.hpp"

namespace plsh::cli::report {
namespace {

// No "<" or "&" below: the page is also well-formed XML.
constexpr std::string_view rules = R"css(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--page);color:var(--ink);font:1rem/1.6 var(--sans);
  font-variant-numeric:lining-nums}
main,.masthead>div,footer{max-width:70rem;margin:0 auto;padding:0 1.75rem}
a{color:var(--blue);text-decoration-thickness:1px;text-underline-offset:.18em}
p{margin:.7em 0;max-width:72ch}
h1,h2,h3,h4{line-height:1.25;margin:0;text-wrap:balance}
h2{font-size:1.55rem;letter-spacing:-.01em;margin:0 0 .4em}
h3{font-size:1.12rem}
h4{font-size:.86rem;color:var(--muted);font-weight:600;margin:1.1em 0 .15em}
code,pre{font:.86em/1.5 var(--mono)}
section{padding:2.6rem 0 .6rem}
sub,sup{line-height:0;font-size:.74em}
.whole{white-space:nowrap}
.spoken{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}

.masthead{background:var(--band);border-bottom:1px solid var(--rule);padding:3rem 0 2.2rem}
.masthead h1{font-size:2.5rem;letter-spacing:-.022em}
.masthead .result{font-size:1.2rem;color:var(--muted);margin:.4em 0 1.4em}
.introduction{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,24rem);gap:3rem;
  align-items:start}
.introduction p{font-size:1.04rem}
.introduction p:first-child{margin-top:0}
figure.illustration{margin:.2rem 0 0;padding:0;background:none;border:0}
.illustration text{font-size:13px}
nav{margin-top:1.4rem;font-size:.92rem;line-height:2}
nav ul{list-style:none;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:0 1.3rem}

.tiles{list-style:none;display:grid;grid-template-columns:repeat(5,1fr);gap:.8rem;
  margin:1.1rem 0 1.6rem;padding:0}
.tiles li{background:var(--card);border:1px solid var(--rule);border-radius:10px;
  padding:.8rem 1rem 1rem}
.tiles .count{display:block;font-size:2.1rem;line-height:1.25;font-weight:600;letter-spacing:-.02em;
  font-variant-numeric:tabular-nums}
.tiles .zero .count{color:var(--axis);font-weight:400}
.tiles .zero .badge{background:none;border-color:var(--axis);color:var(--muted)}
.badge{display:inline-flex;gap:.4em;align-items:baseline;white-space:nowrap;border-radius:99px;
  padding:.1em .7em .14em;font-size:.82rem;font-weight:600;border:1px solid transparent;
  -webkit-print-color-adjust:exact;print-color-adjust:exact}
.badge.certified{background:var(--blue);color:var(--card)}
.badge.consistent{border-color:var(--blue);color:var(--blue);background:var(--card)}
.badge.refuted{background:var(--vermilion);color:var(--card)}
.badge.undecided{border-color:var(--ochre);color:var(--ochre);background:var(--card)}
.badge.skipped{border-color:var(--axis);color:var(--muted);background:var(--card)}

.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(14.5rem,1fr));gap:.7rem 1.6rem;
  margin:0;font-size:.93rem}
.facts dt{color:var(--muted);font-size:.82rem}
.facts dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.command{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:.7rem 1rem;
  margin:1.2rem 0 0;overflow-x:auto}

table{border-collapse:collapse;width:100%;font-size:.92rem;line-height:1.45}
th{font-weight:600;font-size:.82rem;color:var(--muted);text-align:left;vertical-align:bottom;
  border-bottom:1.5px solid var(--axis);padding:.4rem .7rem}
td{border-bottom:1px solid var(--rule);padding:.65rem .7rem;vertical-align:top}
th:first-child,td:first-child{padding-left:0}
th:last-child,td:last-child{padding-right:0}
.number{text-align:right;font-variant-numeric:tabular-nums}
td.number{white-space:nowrap}
.figure{display:block}
.unit{display:block;color:var(--muted);font-size:.78rem;white-space:normal;text-wrap:balance}
.none{color:var(--axis)}
table.claims td.id a{font-weight:600;text-decoration:none}
table.claims td.claim{min-width:16rem}
table.claims .statement{display:block;color:var(--muted)}
table.claims th.number{white-space:nowrap}
table.claims td.number{max-width:8.6rem}
.scroll{overflow-x:auto}
.data{margin:1.1rem 0 0}
.data{width:auto;min-width:60%}
.data th,.data td,.data .unit{white-space:nowrap}
.data.slopes .unit{white-space:normal}
.data.slopes th,.data.slopes td{padding-left:.5rem;padding-right:.3rem}
.data th,.data td{padding-left:1.1rem;padding-right:1.1rem}
.data.full{width:100%}
.data.full th,.data.full td{padding-left:.5rem;padding-right:.5rem}
.data th:first-child,.data td:first-child{padding-left:0}
.pair{display:flex;flex-wrap:wrap;gap:0 4rem}
.hash{overflow-wrap:anywhere}
.data tr.best td{font-weight:600}

figure{margin:1.3rem 0 1.2rem;background:var(--card);border:1px solid var(--rule);
  border-radius:12px;padding:1.3rem 1.4rem 1.1rem}
figure .drawing{overflow-x:auto}
figcaption{font-size:.88rem;line-height:1.5;color:var(--muted);max-width:80ch;margin-top:.8rem}
figcaption b{color:var(--ink);font-weight:600}
figure.side{display:grid;grid-template-columns:minmax(0,1fr) 15.5rem;gap:1.8rem;align-items:center}
figure.side figcaption{margin:0}
svg{display:block;width:100%;height:auto}
svg.chart{max-width:calc(var(--native)*1.14)}
svg text{font-family:var(--sans)}
.panels{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1.6rem 2rem}
.panels h3,.maps h3{font-size:.98rem}
.panels h3 span{display:block;font-size:.84rem;font-weight:400;color:var(--muted);
  margin-bottom:.35rem}
.maps{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:1.4rem}
.maps h3{margin-bottom:.55rem}
svg.heat{border:1px solid var(--axis)}
.key{display:flex;gap:.7rem;align-items:center;justify-content:center;margin-top:1rem;
  font-size:.84rem;color:var(--muted)}
svg.scale{width:12rem;height:.75rem;border:1px solid var(--axis)}
svg.law text{font-size:13.5px;fill:var(--ink)}
svg.law text.in-block{font-size:11px;font-weight:600;fill:var(--card);text-anchor:middle}
svg.law text.rest{text-anchor:end;fill:var(--muted)}

.finding{border-left:3px solid var(--vermilion);padding:.1rem 0 .1rem 1rem;margin:1rem 0}

article.claim{border-top:1px solid var(--rule);padding:1.5rem 0 1.1rem}
article.claim header{display:flex;flex-wrap:wrap;gap:.3rem 1rem;align-items:center;
  justify-content:space-between}
article.claim h3{font-size:1.2rem}
article.claim h3 .id{color:var(--blue);margin-right:.35em}
article.claim p{margin:.1em 0 0}
.columns{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 3.2rem}
.measures{display:grid;grid-template-columns:repeat(auto-fit,minmax(6.4rem,max-content));
  gap:.6rem 1.9rem;margin:1.1rem 0 .4rem}
.measures dt{font-size:.82rem;color:var(--muted)}
.measures dd{margin:0}
.measures .figure{font-size:1.3rem;line-height:1.35;font-variant-numeric:tabular-nums}
.measures .unit{max-width:16rem}
ul.checks{list-style:none;margin:.35rem 0 0;padding:0}
ul.checks li{display:flex;gap:.65em;padding:.12rem 0;max-width:86ch}
ul.checks .sign{font-weight:700}
li.passed .sign{color:var(--teal)}
li.failed .sign,li.failed b{color:var(--vermilion)}
ul.checks b{font-weight:600}
ul.checks .detail{color:var(--muted)}
ul.notes{margin:.2rem 0 0;padding-left:1.1em;max-width:76ch}
.counterexample{border:1.5px solid var(--vermilion);border-radius:8px;padding:.7rem 1rem .9rem;
  margin:1.1rem 0 0}
.counterexample h4{margin:0 0 .2em;color:var(--vermilion)}
.counterexample pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}
article.claim .reproduce{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.2rem 1rem;
  margin-top:1.1rem;font-size:.9rem;max-width:none;color:var(--muted)}
.reproduce code{color:var(--ink);background:var(--band);border-radius:5px;padding:.12em .5em}

.definitions{margin:.8rem 0 0;display:grid;grid-template-columns:repeat(2,minmax(0,1fr));
  gap:.9rem 2.6rem}
.definitions dt{font-weight:600}
.definitions dd{margin:0;color:var(--muted);font-size:.94rem;line-height:1.5}
.definitions.verdicts{grid-template-columns:1fr}
.definitions.verdicts div{display:grid;grid-template-columns:8.5rem minmax(0,76ch)}
.definitions.verdicts dd{color:var(--ink)}
footer{color:var(--muted);font-size:.88rem;padding-top:1.6rem;padding-bottom:3rem}

@media (max-width:900px){
  figure.side{grid-template-columns:1fr;gap:.8rem}
  .panels,.columns,.introduction{grid-template-columns:1fr}
  .introduction{gap:1.4rem}
  figure.illustration{max-width:27rem}
  table.claims thead{display:none}
  table.claims,table.claims tbody{display:block}
  table.claims tr{display:grid;grid-template-columns:3rem 1fr auto;gap:.35rem .6rem;padding:.9rem 0;
    border-bottom:1px solid var(--rule)}
  table.claims td{border:0;padding:0;min-width:0}
  table.claims td.claim{min-width:0}
  table.claims td.number{grid-column:2/-1;max-width:none;text-align:left;white-space:normal;
    display:flex;flex-wrap:wrap;gap:0 .5em;align-items:baseline}
  table.claims td.number::before{content:attr(data-label);color:var(--muted);min-width:7.2rem}
  table.claims td.number:has(.none){display:none}
}
@media (max-width:600px){
  main,.masthead>div,footer{padding-left:1rem;padding-right:1rem}
  .masthead{padding:1.8rem 0 1.4rem}
  .masthead h1{font-size:1.9rem}
  h2{font-size:1.35rem}
  section{padding-top:2rem}
  .tiles{grid-template-columns:repeat(2,1fr)}
  figure{margin-left:-1rem;margin-right:-1rem;border-radius:0;border-left:0;border-right:0;
    padding:1rem}
  .maps{grid-template-columns:1fr}
  .facts{grid-template-columns:repeat(2,minmax(0,1fr))}
  .data th,.data td{padding-left:.5rem;padding-right:.5rem}
  .definitions,.definitions.verdicts div{grid-template-columns:1fr}
  table.claims tr{grid-template-columns:2.4rem 1fr}
  table.claims td.verdict{grid-column:2}
}
@media print{
  @page{margin:16mm 15mm}
  html{font-size:10.2pt}
  body{background:none}
  .masthead{background:none;padding:0 0 1rem}
  main,.masthead>div,footer{max-width:none;padding-left:0;padding-right:0}
  nav{display:none}
  .panels,.columns{grid-template-columns:repeat(2,minmax(0,1fr))}
  .introduction{grid-template-columns:minmax(0,1fr) 17rem;gap:1.6rem}
  section{padding:1.3rem 0 .3rem}
  h2,h3,h4{break-after:avoid}
  figure,tr,.tiles,.definitions div,ul.checks li{break-inside:avoid}
  figure{border-color:var(--axis)}
  a{color:inherit;text-decoration:none}
  svg,.tiles li{-webkit-print-color-adjust:exact;print-color-adjust:exact}
  .scroll,.drawing{overflow:visible}
  .data td{white-space:normal}
}
)css";

std::string variables(std::string_view selector, std::string_view Colour::*shade,
                      std::string_view more) {
  std::string css = fmt::format("{}{{", selector);
  for (const Colour& colour : all_colours)
    css += fmt::format("{}:{};", colour.variable, colour.*shade);
  return css + std::string(more) + "}";
}

}  // namespace

std::string style_sheet() {
  constexpr std::string_view fonts =
      "--sans:Inter,\"Segoe UI\",\"Helvetica Neue\",Roboto,\"Noto Sans\",\"Liberation Sans\","
      "\"DejaVu Sans Condensed\",system-ui,sans-serif;"
      "--mono:ui-monospace,\"SF Mono\",Menlo,Consolas,\"DejaVu Sans Mono\",monospace;";
  return variables(":root", &Colour::light,
                   "color-scheme:light;--page:#fbfaf8;--band:#f1efea;--rule:#dedbd4;"
                   "--idle:#cfd4d6;--heat-0:#ffffff;--heat-1:#0b3c74;" +
                       std::string(fonts)) +
         "\n@media screen and (prefers-color-scheme:dark){" +
         variables(":root", &Colour::dark,
                   "color-scheme:dark;--page:#12171d;--band:#171d24;--rule:#303842;"
                   "--idle:#3b454f;--heat-0:#12171d;--heat-1:#8cc8ff;") +
         "}\n" + std::string(rules);
}

}  // namespace plsh::cli::report
