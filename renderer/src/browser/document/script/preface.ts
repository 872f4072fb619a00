/**
 * The beginning of a document with page JavaScript: a script that collects errors and counts promises to wait for, and a map that lets
 * modules import assets by name. It runs before all scripts of the document and removes itself. It returns text of the document, so it
 * bounds that text in the page.
 */
import type { Asset } from '@platen/contract/domain/tenant.ts'
import { isScriptName } from '../../../template/asset/script.ts'
import { ASSET_ORIGIN, withFirst } from '../../../template/html/reference.ts'
import { FINDINGS_MAX } from '../../limit.ts'

/** Per document: exceptions, rejections and errors on the console, and the characters of each. */
const REPORTS_MAX = FINDINGS_MAX
const REPORT_CHARS_MAX = 500

export interface Report {
  readonly message: string
  /** The address of its script, `about:blank` for scripts in the document; '' if unknown. */
  readonly file: string
  /** From 1; 0 if unknown. */
  readonly line: number
  readonly column: number
}

/** The preface has no line break, so the lines of the document keep their numbers. */
export function withPreface(html: string, assets: readonly Asset[]): string {
  const modules = assets.filter(({ name }) => isScriptName(name))
  const imports = Object.fromEntries(modules.map(({ name, digest }) => [`asset:${name}`, ASSET_ORIGIN + digest]))
  const map = `<script type="importmap">${JSON.stringify({ imports })}</script>`
  return withFirst(html, `<script>(${PREFACE})()</script>${modules.length === 0 ? '' : map}`)
}

/** A global that page code can neither replace nor declare. With its content it could only deceive its own document. */
const STATE = '__platen'

/** Message for a failed import: no request shows an import of an unknown scheme or name. */
const LOST_MODULE = 'a module did not run: it, or something that it imports, is not an asset or of an allowed host'

/**
 * Calls only functions that it has kept, and `await`: page code may replace all globals afterwards. The page's console is in another
 * process, so nothing goes on to it.
 */
const PREFACE = oneLine(`() => {
  const { apply } = Reflect, { slice } = String.prototype, text = String, Failure = Error, Wait = Promise;
  const reports = [], waiting = { count: 0, wake: () => {} };
  const cut = (value) => apply(slice, typeof value === 'string' ? value : text(value), [0, ${REPORT_CHARS_MAX}]);
  const report = (what, stack, file, line, column) => {
    if (reports.length >= ${REPORTS_MAX}) return;
    try { reports[reports.length] = [cut(what), cut(stack), cut(file), cut(line), cut(column)]; } catch {}
  };
  const describe = (reason) => {
    try {
      if (typeof reason !== 'object' || reason === null || typeof reason.message !== 'string') return [cut(reason), ''];
      const name = typeof reason.name === 'string' ? cut(reason.name) : 'Error';
      return [name + ': ' + cut(reason.message), typeof reason.stack === 'string' ? reason.stack : ''];
    } catch { return ['a value that cannot be shown', '']; }
  };
  const rejected = (before, reason) => {
    const [what, stack] = describe(reason);
    report(before + what, stack, '', 0, 0);
  };
  addEventListener('error', (event) => {
    const { target } = event;
    if (target === globalThis) {
      event.preventDefault();
      report(event.message, describe(event.error)[1], event.filename, event.lineno, event.colno);
    }
    else if (target.localName === 'script' && target.type === 'module') report(${JSON.stringify(LOST_MODULE)}, '', '', 0, 0);
  }, true);
  addEventListener('unhandledrejection', (event) => {
    event.preventDefault();
    rejected('unhandled rejection: ', event.reason);
  });
  for (const name of ['log', 'info', 'debug', 'warn', 'dir', 'table', 'trace']) console[name] = () => {};
  console.error = (...values) => {
    let line = 'console.error:';
    for (let at = 0; at < values.length && at < 10; at += 1) line += ' ' + describe(values[at])[0];
    report(line, new Failure().stack, '', 0, 0);
  };
  const follow = async (promise) => {
    try { await promise; } catch (reason) { rejected('platen.ready: rejected: ', reason); }
    waiting.count -= 1;
    if (waiting.count === 0) waiting.wake();
  };
  const ready = (promise) => { waiting.count += 1; follow(promise); };
  const settled = async () => {
    try { while (waiting.count > 0) await new Wait((resolve) => { waiting.wake = resolve; }); } catch {}
    return 'waited';
  };
  Object.defineProperty(globalThis, '${STATE}', { value: Object.freeze({ reports, waiting, settled }) });
  globalThis.platen = { ready };
  document.currentScript.remove();
}`)

/**
 * Resolves when all promises given to `platen.ready` have settled: `waited`, or '' if there were none. Runs in the page's own world. So it
 * returns nothing that the page could choose, and without promises it uses none of the page's prototypes.
 */
export const READY = `(() => {
  try { return ${STATE}.waiting.count > 0 ? ${STATE}.settled() : '' } catch { return '' }
})()`

/** Returns the reports as text. Page code may have changed them, so only short strings pass. */
export const REPORTS = `(() => {
  let all = ''
  try {
    const { reports } = ${STATE}
    for (let at = 0; at < ${REPORTS_MAX} && at < reports.length; at += 1) {
      for (let part = 0; part < 5; part += 1) {
        const text = reports[at][part]
        all += typeof text === 'string' && text.length <= ${REPORT_CHARS_MAX} ? text.length + ':' + text : '0:'
      }
    }
  } catch {}
  return all
})()`

export function reportsOf(text: string): readonly Report[] {
  const parts = partsOf(text)
  const reports = Array.from({ length: Math.floor(parts.length / 5) }, (_, index) => {
    const [message = '', stack = '', file = '', line = '', column = ''] = parts.slice(index * 5, index * 5 + 5)
    const [, stackFile = '', stackLine = '', stackColumn = ''] = FRAME.exec(stack) ?? []
    // An event says where an exception was thrown, its stack where it was made.
    const isMade = stackLine !== ''
    return {
      message,
      file: isMade ? stackFile : file,
      line: Number(isMade ? stackLine : line) || 0,
      column: Number(isMade ? stackColumn : column) || 0,
    }
  })
  return reports.filter(({ message }) => message !== '')
}

/** Texts, each preceded by its length. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    const begin = text.indexOf(':', at) + 1
    const end = begin + Number(text.slice(at, begin - 1))
    parts.push(text.slice(begin, end))
    at = end
  }
  return parts
}

/** The first frame of a stack that is not our `console.error`. */
const FRAME = /^ {4}at (?!console\.error )(?:.*? \()?((?:about|asset|https?):[^\s()]*?):(\d+):(\d+)\)?$/m

/** Each of our statements ends with a semicolon, so line breaks can go. */
function oneLine(code: string): string {
  return code.replaceAll(/\n\s*/g, ' ')
}
