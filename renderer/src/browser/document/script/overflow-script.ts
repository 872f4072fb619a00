/** Finds what does not fit on its page or into its box. Like `script.ts`: expressions for the page, on the prototypes. */

import { CSS_PAGES } from '../../../template/html/page-css.ts'
import { ELEMENTS_LOOKED_AT_MAX, FINDINGS_MAX } from '../../limit.ts'
import { NAME_OF } from './name-script.ts'
import { EACH_RULE, READ_SOURCE_PAGE } from './script.ts'

export interface Widest {
  /** How far it reaches, in CSS pixels from the left margin. 0 if nothing is too wide. */
  readonly reach: number
  /** The element, as in `<td class="name"> “first words”`. */
  readonly name: string
}

/** Among the elements that reach furthest, the innermost is the cause. Content that an ancestor clips does not count. */
export const FIND_WIDEST = `() => {
  const own = (prototype, name, of) => Object.getOwnPropertyDescriptor(prototype, name).get.call(of)
  const rect = (element) => Element.prototype.getBoundingClientRect.call(element)
  const parentOf = (element) => own(Node.prototype, 'parentElement', element)
  const isClipped = (element) => {
    for (let outer = parentOf(element); outer !== null && parentOf(outer) !== null; outer = parentOf(outer))
      if (getComputedStyle(outer).overflowX !== 'visible') return true
    return false
  }
  let reach = own(Element.prototype, 'clientWidth', own(Document.prototype, 'documentElement', document)) + 0.5, widest = null
  for (const element of Document.prototype.querySelectorAll.call(document, 'body, body *')) {
    const { left, right, width } = rect(element)
    const here = Math.max(right, left + own(Element.prototype, 'scrollWidth', element))
    if (width === 0 || here < reach - 0.01 || isClipped(element) || (right < reach && getComputedStyle(element).overflowX !== 'visible')) continue
    reach = here
    widest = element
  }
  if (widest === null) return JSON.stringify({ reach: 0, name: '' })
  // Each row of a table is as wide as the table, and its widest cell is the reason.
  const cells = Array.from(Element.prototype.querySelectorAll.call(widest, 'td, th'))
  if (Element.prototype.matches.call(widest, 'table, thead, tbody, tfoot, tr')) widest = cells.reduce((one, other) => rect(other).width > rect(one).width ? other : one, cells[0] ?? widest)
  return JSON.stringify({ reach, name: (${NAME_OF})(widest) })
}`

/** Properties that move an element to the left or up if they are negative. */
const OFFSETS = [
  'marginLeft',
  'marginTop',
  'left',
  'top',
  'right',
  'bottom',
  'textIndent',
  'marginInlineStart',
  'marginBlockStart',
  'insetInlineStart',
]

/** Content further outside than this is hidden on purpose: -9999px is usual. */
const HIDDEN_PX = 900

/** Returns the size of a page between its margins, in CSS pixels. A margin in an unknown form counts as 1 cm. */
const PAGE_AREA = `() => {
  const names = ${JSON.stringify(CSS_PAGES)}, units = { px: 1, pt: 4 / 3, in: 96, cm: 96 / 2.54, mm: 96 / 25.4 }
  const lengthOf = (text) => parseFloat(text) * units[text.slice(-2)]
  const page = (${READ_SOURCE_PAGE})(), words = page.size.toLowerCase().split(' ')
  const lengths = words.map(lengthOf).filter((length) => length > 0)
  const [short, long] = names[words.find((word) => names[word])] ?? names.a4
  const named = words.includes('landscape') ? [long, short] : [short, long]
  const [width, height] = lengths.length > 0 ? [lengths[0], lengths.at(-1)] : named
  const margin = (side, whole) => {
    const text = page[side]
    if (text.endsWith('%')) return parseFloat(text) * whole / 100
    return lengthOf(text) >= 0 ? lengthOf(text) : units.cm
  }
  return { width: width - margin('left', width) - margin('right', width), height: height - margin('top', height) - margin('bottom', height) }
}`

export const FIND_PAGE_AREA = `JSON.stringify((${PAGE_AREA})())`

/** Each frame has a layout of its own. */
const FRAMES_LOOKED_AT_MAX = 20

export interface Cut {
  /** The first cut content: the beginning of a text, or the name of an image. */
  readonly what: string
  readonly others: number
  /** The box that cuts it off, with its style. '' means the page. */
  readonly by: string
}

/**
 * Finds content that a box or the page cuts off. Looks only at elements whose rules clip or move them. Lays the document out as its page,
 * whose size `areaOf` returns, only if one of these may then be too small: that is most of the cost. Without `areaOf`, the window has that
 * size. Ignores what authors do on purpose: an ellipsis, a number of lines, content that is hidden or far outside, and boxes of a pixel. A
 * part of a letter, as between lines that are set closely, is no loss.
 */
const FIND_CUTS = String.raw`(eachRule, areaOf) => {
  const all = (selector) => Array.from(Document.prototype.querySelectorAll.call(document, selector)).slice(0, ${ELEMENTS_LOOKED_AT_MAX})
  const getter = (prototype, name) => { const { get } = Object.getOwnPropertyDescriptor(prototype, name); return (of) => get.call(of) }
  const [scrollWidth, scrollHeight, clientWidth, clientHeight, clientLeft, clientTop, nameOfElement, spaceOf] =
    ['scrollWidth', 'scrollHeight', 'clientWidth', 'clientHeight', 'clientLeft', 'clientTop', 'localName', 'namespaceURI'].map((name) => getter(Element.prototype, name))
  const [parentOf, textIn] = ['parentElement', 'textContent'].map((name) => getter(Node.prototype, name))
  const rectOf = (element) => Element.prototype.getBoundingClientRect.call(element)
  const attributeOf = (element, name) => Element.prototype.getAttribute.call(element, name) ?? ''
  const nameOf = ${NAME_OF}
  const bare = (element) => nameOf(element).replace(/ “[^]*/, '')
  const quoted = (text) => '“' + text.trim().replace(/\s+/g, ' ').slice(0, 40) + '”'
  const root = getter(Document.prototype, 'documentElement')(document), body = getter(Document.prototype, 'body')(document)
  const isHtml = (element) => spaceOf(element) === 'http://www.w3.org/1999/xhtml'
  const isImage = (element) => /^(?:img|svg|canvas)$/.test(nameOfElement(element))

  // The elements that rules clip, and those that rules move. Of a nested rule it is not known which these are.
  const clipping = ['[style*="overflow"]', '[style*="contain"]'], moving = ['absolute', 'fixed', 'trans', 'calc(', ':-', ': -'].map((text) => '[style*="' + text + '"]')
  const isSet = (style, names) => names.some((name) => style[name] !== '' && style[name] !== 'visible' && style[name] !== 'none')
  const isBack = (style) => ${JSON.stringify(OFFSETS)}.some((name) => /^-|\(/.test(style[name]))
  eachRule((rule) => {
    if (!(rule instanceof CSSStyleRule)) return
    const { style, selectorText } = rule, selector = selectorText.includes('&') ? 'body *' : selectorText
    if (isSet(style, ['overflowX', 'overflowY', 'contain'])) clipping.push(selector)
    if (/absolute|fixed/.test(style.position) || isSet(style, ['transform', 'translate']) || isBack(style)) moving.push(selector)
  })
  // The overflow of one of these is that of the page, which goes on.
  const ofPage = getComputedStyle(root).overflowY === 'visible' ? [root, body] : [root]
  const matching = (selectors) => {
    try { return all(selectors.join()).filter(isHtml) } catch { return all('body *').filter(isHtml) }
  }
  const clippers = matching(clipping).filter((element) => !ofPage.includes(element)), moved = matching(moving)

  const page = areaOf?.()
  // Whether one of them may hold less on the page than all of its texts: never, whatever they are, or only words of so many pixels a letter.
  const judge = (element) => {
    const { overflowX, overflowY, whiteSpace, textOverflow, position, display, fontSize, contain } = getComputedStyle(element)
    const isClip = overflowX !== 'visible' || overflowY !== 'visible' || /paint|strict|content/.test(contain)
    if (!isClip || display === 'inline') return false
    const map = Element.prototype.computedStyleMap.call(element), outer = getComputedStyle(parentOf(element) ?? element)
    if (/absolute|fixed/.test(position) || /flex|grid/.test(outer.display) || String(map.get('max-height')) !== 'none' || String(map.get('height')) !== 'auto') return true
    if (textOverflow !== 'clip') return false
    return whiteSpace !== 'normal' || parseFloat(fontSize)
  }
  // Elements of one name, class and style are alike.
  const judged = new Map()
  const mayLose = (element) => {
    const outer = parentOf(element) ?? element
    const key = [element, outer].flatMap((each) => [nameOfElement(each), attributeOf(each, 'class'), attributeOf(each, 'style')]).join('|')
    const verdict = judged.get(key) ?? judge(element)
    judged.set(key, verdict)
    if (typeof verdict === 'boolean') return verdict
    const width = clientWidth(element) * page.width / innerWidth
    return textIn(element).split(/\s+/).some((word) => word.length * verdict > width) || Element.prototype.querySelector.call(element, 'table, pre, [style*="nowrap"]') !== null
  }
  const mayLeave = (element) => {
    const { position, left, right, bottom, marginLeft, transform, translate } = getComputedStyle(element)
    const rect = rectOf(element), map = Element.prototype.computedStyleMap.call(element)
    const own = (name) => String(map.get(name))
    if (position === 'fixed') {
      const isWide = own('right') === 'auto' ? rect.right > page.width : parseFloat(right) < -1
      const isHigh = rect.height > page.height || (own('bottom') === 'auto' ? rect.bottom > page.height : parseFloat(bottom) < -1)
      if (isWide || isHigh) return true
    }
    const isSteady = !/%|calc/.test(own('left')) && (own('left') !== 'auto' || own('right') === 'auto') && !marginLeft.startsWith('-') && transform === 'none' && translate === 'none'
    return !isSteady && rect.left < innerWidth - page.width + 1
  }
  // What is too wide there begins at the right, and goes on at the left of the page, where nothing is.
  const leftward = getComputedStyle(body ?? root).direction === 'rtl' ? [body ?? root] : all('[dir="rtl" i]')
  const isLaidOut = page !== undefined && (leftward.length > 0 || clippers.some(mayLose) || moved.some(mayLeave))
  const ownStyle = Element.prototype.getAttribute.call(root, 'style')
  // It is what a page would be to all that is in it, also to what is fixed.
  if (isLaidOut) Element.prototype.setAttribute.call(root, 'style', (ownStyle ?? '') + ';position:relative!important;transform:translate(0)!important;box-sizing:border-box!important;margin:0!important;min-width:0!important;max-width:none!important;width:' + page.width + 'px!important;height:' + page.height + 'px!important')
  const corner = isLaidOut ? rectOf(root) : { left: 0, top: 0 }
  const styles = new Map()
  const styleOf = (element) => {
    const known = styles.get(element) ?? getComputedStyle(element)
    styles.set(element, known)
    return known
  }
  const isShown = (element) => Element.prototype.checkVisibility.call(element, { visibilityProperty: true, opacityProperty: true })
  const isClear = (color) => color === 'transparent' || /^rgba\(.*, 0\)$/.test(color)
  const clips = (element) => {
    const { overflowX, overflowY, contain } = styleOf(element)
    const isContained = /paint|strict|content/.test(contain)
    return ofPage.includes(element) ? [false, false] : [isContained || overflowX !== 'visible', isContained || overflowY !== 'visible']
  }
  const boxOf = (element) => {
    const { left, top } = rectOf(element), [x, y] = [left + clientLeft(element), top + clientTop(element)]
    return { left: x, top: y, right: x + clientWidth(element), bottom: y + clientHeight(element) }
  }
  // Whether a line or an image is cut off: the height of a small letter, or its width; of an image all.
  const isOut = ({ left, top, right, bottom, width, height }, { box, sides: [x, y] }, isWhole) => {
    if (width < 1 || height < 1 || box.left - right > ${HIDDEN_PX} || box.top - bottom > ${HIDDEN_PX}) return false
    const [partX, partY] = isWhole ? [width - 0.5, height - 0.5] : [Math.max(2, Math.min(width, height / 2.5)), height / 3]
    return (x && Math.max(box.left - left, right - box.right) >= partX) || (y && Math.max(box.top - top, bottom - box.bottom) >= partY)
  }
  // Whether another box or the author hides it, or it is not within the box at all. Without a box it is within the page.
  const isElsewhere = (element, line, within) => {
    let needs = ''
    for (let at = element; at !== null && at !== root; at = parentOf(at)) {
      const style = styleOf(at)
      const holds = style.transform !== 'none' || style.filter !== 'none' || /paint|layout|strict|content/.test(style.contain)
      if (needs !== '' && (holds || (needs === 'positioned' && style.position !== 'static'))) needs = ''
      if (at === within) return needs !== ''
      if (style.clip !== 'auto' || style.clipPath !== 'none') return true
      const sides = at === element ? [false, false] : clips(at)
      if (needs === '' && sides.includes(true) && isOut(line, { box: boxOf(at), sides })) return true
      if (style.position === 'fixed') needs = 'fixed'
      else if (needs === '' && style.position === 'absolute') needs = 'positioned'
    }
    return within !== undefined
  }
  const lineOut = (node, area) => {
    if (node.nodeType === 1) return isOut(rectOf(node), area, true) ? rectOf(node) : undefined
    if (!/\S/.test(node.data)) return undefined
    const range = new Range()
    range.selectNodeContents(node)
    return Array.prototype.find.call(range.getClientRects(), (line) => isOut(line, area, false))
  }
  let left = ${ELEMENTS_LOOKED_AT_MAX}
  const cuts = [], told = new Set()
  // What of these nodes is out of an area.
  const look = (nodes, { by, within, ...area }) => {
    let first, others = 0
    for (const node of nodes) {
      left -= 1
      if (left < 0) break
      if (told.has(node)) continue
      const element = node.nodeType === 1 ? node : parentOf(node)
      const line = lineOut(node, area)
      if (line === undefined || !isShown(element) || isElsewhere(element, line, within)) continue
      if (node.nodeType === 3 && isClear(styleOf(element).color)) continue
      told.add(node)
      if (first === undefined) first = node
      else others += 1
    }
    if (first !== undefined) cuts.push({ what: first.nodeType === 1 ? nameOf(first) : quoted(first.data), others, by })
  }
  const inside = function* (box) {
    const walker = Document.prototype.createTreeWalker.call(document, box, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
    while (walker.nextNode()) if (walker.currentNode.nodeType === 3 || isImage(walker.currentNode)) yield walker.currentNode
  }
  const isCropped = (element) => {
    for (let at = element; at !== null; at = parentOf(at)) if (styleOf(at).clip !== 'auto' || styleOf(at).clipPath !== 'none') return true
    return false
  }
  const lookInside = (box, style, sides) => {
    if (isCropped(box)) return
    const why = style.overflow === 'visible' ? 'contain: ' + style.contain : 'overflow: ' + style.overflow
    // Texts are moved out of their box in place of an image.
    const x = sides[0] && style.textOverflow === 'clip' && style.textIndent === '0px', y = sides[1] && style.webkitLineClamp === 'none'
    look(inside(box), { box: boxOf(box), sides: [x, y], within: box, by: bare(box) + ', which has ' + why })
  }
  const before = { box: { left: corner.left, top: corner.top, right: Infinity, bottom: Infinity }, sides: [true, true], by: '' }
  const [right, bottom] = [corner.left + (page?.width ?? innerWidth), corner.top + (page?.height ?? innerHeight)]
  const paper = { ...before, box: { left: corner.left, top: corner.top, right, bottom } }
  const isDrawn = (style) => !isClear(style.backgroundColor) || style.backgroundImage !== 'none' ||
    ['Top', 'Right', 'Bottom', 'Left'].some((side) => parseFloat(style['border' + side + 'Width']) > 0 && !isClear(style['border' + side + 'Color']))
  const lookAt = (element, area) => {
    const rect = rectOf(element)
    // A line has one side of no length.
    const line = { left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom, width: Math.max(1, rect.width), height: Math.max(1, rect.height) }
    const isBox = isImage(element) || isDrawn(styleOf(element))
    if (!isBox || !isOut(line, area, true) || !isShown(element) || isElsewhere(element, line)) return look(inside(element), area)
    for (const node of inside(element)) told.add(node)
    cuts.push({ what: nameOf(element), others: 0, by: '' })
  }
  const lookAtField = (field, width, height) => {
    const size = parseFloat(styleOf(field).fontSize) / 2, { value } = field
    const isOver = scrollHeight(field) > height + size || scrollWidth(field) > width + size
    if (isOver && /\S/.test(value) && isShown(field)) cuts.push({ what: quoted(value), others: 0, by: bare(field) })
  }
  const frameOf = getter(HTMLIFrameElement.prototype, 'contentDocument')
  const lookAtFrame = (frame) => {
    const inner = frameOf(frame)?.documentElement
    const isOver = inner && clientWidth(frame) > 1 && (scrollHeight(inner) > clientHeight(inner) + 8 || scrollWidth(inner) > clientWidth(inner) + 8)
    if (isOver && /\S/.test(inner.textContent) && isShown(frame)) cuts.push({ what: 'the end of ' + quoted(inner.textContent), others: 0, by: bare(frame) })
  }
  const lookAtDrawnText = (text) => {
    const svg = text.ownerSVGElement
    if (svg === null || !isHtml(parentOf(svg) ?? svg) || styleOf(svg).overflowX === 'visible') return
    const [{ left, top, right, bottom, width, height }, area] = [rectOf(text), rectOf(svg)]
    const seen = Math.max(0, Math.min(right, area.right) - Math.max(left, area.left)) * Math.max(0, Math.min(bottom, area.bottom) - Math.max(top, area.top))
    if (area.width > 1 && width * height > 1 && seen < width * height / 2 && /\S/.test(text.textContent) && isShown(text)) cuts.push({ what: quoted(text.textContent), others: 0, by: bare(svg) })
  }
  const isFull = () => left < 0 || cuts.length >= ${FINDINGS_MAX}
  for (const element of isLaidOut || page === undefined ? clippers : []) {
    if (isFull()) break
    left -= 1
    const [width, height] = [clientWidth(element), clientHeight(element)]
    if (width < 2 || height < 2 || !(scrollHeight(element) > height + 1 || scrollWidth(element) > width + 1)) continue
    const sides = clips(element)
    if (sides.includes(true)) lookInside(element, styleOf(element), sides)
  }
  for (const element of moved) {
    if (isFull()) break
    left -= 1
    const rect = rectOf(element), isFixed = (isLaidOut || page === undefined) && styleOf(element).position === 'fixed'
    if (rect.left < corner.left - 1 || rect.top < corner.top - 1) lookAt(element, before)
    else if (isFixed && (rect.right > right || rect.bottom > bottom)) lookAt(element, paper)
  }
  for (const element of leftward) if (!isFull()) look(inside(element), before)
  for (const field of all('textarea, input')) if (!isFull()) lookAtField(field, clientWidth(field), clientHeight(field))
  for (const frame of all('iframe').slice(0, ${FRAMES_LOOKED_AT_MAX})) if (!isFull()) lookAtFrame(frame)
  for (const text of all('svg text')) if (!isFull()) lookAtDrawnText(text)
  if (isLaidOut) ownStyle === null ? Element.prototype.removeAttribute.call(root, 'style') : Element.prototype.setAttribute.call(root, 'style', ownStyle)
  return JSON.stringify(cuts.slice(0, ${FINDINGS_MAX}))
}`

export const FIND_CUTS_EARLY = `(${FIND_CUTS})(${EACH_RULE}, ${PAGE_AREA})`

export const FIND_CUTS_IN_WINDOW = `(${FIND_CUTS})(${EACH_RULE})`
