// @ts-check
/**
 * Shapes shared by the modules of the page.  There is no code here: the types are read by editors and by
 * `tsc --checkJs`, and there is no build step.
 *
 * @typedef {string | number | boolean} Value
 * @typedef {Record<string, Value>} Params
 *
 * @typedef {object} Control
 * @property {string} id
 * @property {string} label
 * @property {"range" | "choice" | "toggle" | "text"} kind
 * @property {number[]} [values]  the only values the slider takes, rising
 * @property {(value: number) => string} [say]  what was taken, in words, under the field
 * @property {number} [min]
 * @property {number} [max]
 * @property {number} [step]
 * @property {"linear" | "log" | "log2"} [scale]
 * @property {Array<{value: string, label: string}>} [options]
 * @property {boolean} [frozen]  the page has answers to the usual value alone
 * @property {boolean} [open]  the server knows more options, and refuses what it does not know
 * @property {string} [help]
 * @property {(value: number) => string} [format]
 * @property {string} [group]
 * @property {(params: Params) => boolean} [shown]
 *
 * @typedef {object} Point
 * @property {number} x
 * @property {number} y
 * @property {number} [low]
 * @property {number} [high]
 * @property {string} [label]
 *
 * @typedef {object} Series
 * @property {string} name
 * @property {Point[]} points
 * @property {string} [color]
 * @property {string} [dash]
 * @property {"line" | "dotted" | "points" | "both" | "band" | "area" | "bars"} [kind]  an area is stacked from low to high
 * @property {string} [marker]
 * @property {number} [width]
 * @property {boolean} [quiet]
 * @property {string} [tag]  what it is in a word, written beside it
 *
 * @typedef {object} Mark
 * @property {number} [x]
 * @property {number} [y]
 * @property {string} label
 * @property {string} [color]
 * @property {number} [low]  with `high`, the ends of what the line might be
 * @property {number} [high]
 * @property {string} [param]
 * @property {string} [paramY]
 * @property {number} [factor]  what a place on the axis is multiplied by to become the parameter
 *
 * @typedef {object} Axis
 * @property {string} label
 * @property {"linear" | "log2" | "log10"} scale
 * @property {number} [min]
 * @property {number} [max]
 * @property {string[]} [categories]
 * @property {number[]} [ticks]  where the values are, instead of round ones
 * @property {(value: number) => string} [format]
 *
 * @typedef {object} ChartSpec
 * @property {string} id
 * @property {string} title
 * @property {string} alt
 * @property {Axis} x
 * @property {Axis} y
 * @property {Series[]} series
 * @property {Mark[]} [marks]
 * @property {Mark[]} [levels]
 * @property {Mark[]} [handles]
 * @property {Array<{from: number, to: number, label: string, color: string, wash?: boolean}>} [zones]  along the axis; washed, the plot too
 * @property {Array<{x: number, y: number, text: string, color?: string}>} [labels]  texts beside points
 * @property {Map<number, string[]>} [hints]  further lines of the readout at an x
 * @property {string} [pick]
 * @property {boolean} [tall]  the one chart of its view
 *
 * @typedef {{text: string, tone?: string}} CellData
 * @typedef {object} TableData
 * @property {string | null} [caption]
 * @property {Array<{header: string, align?: string}>} columns
 * @property {CellData[][]} rows
 */
export {};
