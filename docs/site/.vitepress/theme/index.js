// The theme of VitePress with the fonts of the reader's device, and what axe found wanting.
import theme from 'vitepress/theme-without-fonts'
import './style.css'

export default theme
