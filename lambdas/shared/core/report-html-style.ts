/** The whole style of the report; colours follow the reader's light or dark setting. */
export const REPORT_STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#d0d7de;--soft:#f3f5f7;--accent:#1f5fae;--bar:#5b8fd0;
--s0:#fbe3e0;--s1:#fbeedd;--s2:#f8f5d5;--s3:#e6f3d9;--s4:#d5efdc}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--paper:#14181c;--line:#3a424a;--soft:#1d2329;--accent:#8ab8f0;--bar:#4d7fbd;
--s0:#4a2522;--s1:#463421;--s2:#41401f;--s3:#2c4023;--s4:#1f432b}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:90rem;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}
h1,td,th,dd,li,code{overflow-wrap:anywhere;unicode-bidi:isolate}
#ledger-sum{font-weight:600}
a{color:var(--accent)}
.scroll{overflow-x:auto;margin-bottom:1rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.25rem 0;opacity:.8}
th,td{border:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top;min-width:3.5rem}
thead th,tfoot th,tfoot td{background:var(--soft)}
thead th{overflow-wrap:normal}
tbody th{font-weight:500;min-width:8rem}
td:not(.n){min-width:7rem}
.units tbody th{min-width:15rem}.units td:nth-child(13){min-width:18rem}
td.n{text-align:right;white-space:nowrap}
td.n small{opacity:.75}
.s0{background:var(--s0)}.s1{background:var(--s1)}.s2{background:var(--s2)}.s3{background:var(--s3)}.s4{background:var(--s4)}
#warnings-heading+ul{border-left:4px solid var(--accent);background:var(--soft);padding:.5rem 2rem;margin:0}
.bars{max-width:46rem;width:100%;height:auto;display:block}
.bars text{font-size:12px;fill:var(--ink)}.bars .label{text-anchor:end}
.bars rect{fill:var(--bar)}.bars line{stroke:var(--ink);opacity:.6}
h3{font-size:1rem;margin:1rem 0 0;overflow-wrap:anywhere;unicode-bidi:isolate}
article p{margin:.15rem 0;overflow-wrap:anywhere}
.film{display:flex;flex-wrap:wrap;gap:.75rem;margin:.25rem 0 1rem;padding:0;list-style:none}
.film li{flex:none;width:min(11.5rem,46%)}.film img{display:block;width:100%;height:auto;border:1px solid var(--line)}
.film small{display:block;overflow-wrap:anywhere}
.film .none{display:grid;place-items:center;height:6rem;border:1px dashed var(--line);background:var(--soft)}
a:focus-visible,[tabindex]:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem}dd{margin:0}
@media print{body{max-width:none}.scroll{overflow:visible}}
`;
