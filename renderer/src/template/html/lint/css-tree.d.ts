/** The parser alone, because the whole package also loads its dictionary of CSS. */
declare module 'css-tree/parser' {
  export { parse as default } from 'css-tree'
}
