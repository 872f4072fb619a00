/** The parser alone: the whole package also reads its dictionary of CSS. */
declare module 'css-tree/parser' {
  export { parse as default } from 'css-tree'
}
