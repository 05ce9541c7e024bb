import { CONNECT_PROGRAM, ROLE_PROGRAM, WEB_PROGRAM } from './preflight-programs.ts';

/** What AWS says when it knows whoever asks and refuses. */
const DENIED = 'AccessDenied|UnauthorizedOperation|not authorized';
/** What it says when it does not even know who asks: then nothing is shown. */
const UNKNOWN_CALLER =
  'ExpiredToken|InvalidSignature|SignatureDoesNotMatch|UnrecognizedClient|IncompleteSignature|InvalidClientTokenId|RequestExpired';

/** Functions of the scripts for Linux. A try that fails for another reason than that it is denied shows nothing. */
export const SHELL_PRELUDE = `LC_ALL=C; export LC_ALL
report() { printf '{"id":"%s","verdict":"%s","evidence":"%s"}\\n' "$id" "$1" "$(printf %s "$2" | tr '\\n\\t"\\134' "   /" | tr -cd '[:print:]' | cut -c 1-400)"; }
try_it() { what=$1; shift
  if said=$("$@" 2>&1 < /dev/null); then reached="$reached$what; "; return 0; fi
  seen="$seen$what: $said; "
  case $said in *ermission\\ denied*|*not\\ permitted*|*ead-only\\ file*) real=1;; esac; return 0; }
is_roots() { [ "$(stat -c %u "/proc/$1" 2>/dev/null)" = 0 ] && [ -n "$(tr -d '\\0' < "/proc/$1/cmdline" 2>/dev/null)" ]; }
settle() {
  if [ -n "$reached" ]; then report reached "$reached"; elif [ -n "$real" ]; then report refused "$seen"; else report unknown "$seen"; fi; }
web_program='${WEB_PROGRAM}'
connect_program='${CONNECT_PROGRAM}'
role_program='${ROLE_PROGRAM}'
web() { silence=$1; shift; said=$("$node" -e "$web_program" "$@" 2>&1)
  case $said in
    'status 401'*|'status 403'*) report refused "$said";;
    'status 2'*|'status 3'*) report reached "$said";;
    'none ENOTFOUND'*|'none EAI_AGAIN'*|'none ENETUNREACH'*) report unknown "$said";;
    'none '*) [ "$silence" = refused ] && report refused "$said" || report unknown "$said";;
    *) report unknown "$said";;
  esac; }
connect() { said=$("$node" -e "$connect_program" "$@" 2>&1)
  case $said in closed*) report refused "$said";; open*) report reached "$said";; *) report unknown "$said";; esac; }
role() { said=$("$node" -e "$role_program" "$@" 2>&1)
  if printf %s "$said" | grep -qE '${UNKNOWN_CALLER}'; then report unknown "$said"
  elif printf %s "$said" | grep -qE '${DENIED}'; then report refused "$said"
  else case $said in
    'norole 404') report refused 'the machine has no role';;
    'status 2'*|'status 3'*|'status 4'*) report reached "$said";;
    *) report unknown "$said";;
  esac; fi; }`;

/** The same for Windows, in PowerShell 5.1. */
export const POWERSHELL_PRELUDE = `$ErrorActionPreference = 'Continue'; $ProgressPreference = 'SilentlyContinue'
[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)
function report($verdict, $evidence) {
  $text = ("$evidence" -replace '[^\\x20-\\x7e]', ' ' -replace '["\\\\]', '/'); if ($text.Length -gt 400) { $text = $text.Substring(0, 400) }
  [Console]::Out.WriteLine('{"id":"' + $script:id + '","verdict":"' + $verdict + '","evidence":"' + $text + '"}') }
function try_it($what, $block) {
  try { & $block | Out-Null; $script:reached += "$what; " }
  catch { $script:seen += "$($what): $($_.Exception.Message); "; if ($_.Exception.Message -match 'denied') { $script:real = $true } } }
# Windows PowerShell gives a program neither an empty word nor a double quote inside of one, unless they are written so.
function program_words($words) { $words | ForEach-Object { if ("$_" -eq '') { '""' } else { "$_" -replace '(\\*)"', '$1$1\\"' } } }
function settle {
  if ($script:reached) { report reached $script:reached } elseif ($script:real) { report refused $script:seen } else { report unknown $script:seen } }
$web_program = '${WEB_PROGRAM}'
$connect_program = '${CONNECT_PROGRAM}'
$role_program = '${ROLE_PROGRAM}'
function web($silence) {
  $words = @(program_words $args)
  $said = "$(& $node -e $web_program @words 2>&1)"
  if ($said -match '^status 40[13]') { report refused $said }
  elseif ($said -match '^status [23]') { report reached $said }
  elseif ($said -match '^none (?!ENOTFOUND|EAI_AGAIN|ENETUNREACH)' -and $silence -eq 'refused') { report refused $said }
  else { report unknown $said } }
function connect {
  $words = @(program_words $args)
  $said = "$(& $node -e $connect_program @words 2>&1)"
  if ($said -match '^closed') { report refused $said } elseif ($said -match '^open') { report reached $said } else { report unknown $said } }
function role {
  $words = @(program_words $args)
  $said = "$(& $node -e $role_program @words 2>&1)"
  if ($said -match '${UNKNOWN_CALLER}') { report unknown $said }
  elseif ($said -match '${DENIED}') { report refused $said }
  elseif ($said -match '^norole 404') { report refused 'the machine has no role' }
  elseif ($said -match '^status [234]') { report reached $said }
  else { report unknown $said } }`;
