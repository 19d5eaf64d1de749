/** Where everything of a picture is, in pixels: four columns side by side, or one below the other where it is narrow. */
import { columns } from './graph.ts'
import type { Column, Graph, PictureEdge, PictureNode } from './graph.ts'

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface PlacedNode extends Box {
  readonly node: PictureNode
  /** Cut to the width of the box. */
  readonly title: string
  readonly lines: readonly string[]
}

export interface PlacedEdge {
  readonly edge: PictureEdge
  /** Of an SVG path. */
  readonly path: string
  readonly label?: { readonly x: number; readonly y: number; readonly text: string }
}

interface Heading {
  readonly column: Column
  readonly x: number
  readonly y: number
}

export interface Layout {
  readonly isStacked: boolean
  readonly width: number
  readonly height: number
  readonly headings: readonly Heading[]
  readonly nodes: readonly PlacedNode[]
  readonly edges: readonly PlacedEdge[]
}

/** Narrower, and the columns are stacked. */
export const narrowest = 760

const headingHeight = 28
const titleHeight = 22
const lineHeight = 17
const padding = 8
const gapBetween = 12
/** Room that the padding takes, and the mark. */
const besideText = 22
const besideMark = 40
const digitWidth = { code: 7.3, title: 7.6, line: 6.5 }

/** Of the whole width, without the gaps. */
const columnParts: Readonly<Record<Column, number>> = { clients: 0.16, entrances: 0.26, policy: 0.26, endpoints: 0.32 }
const columnMost: Readonly<Record<Column, number>> = { clients: 150, entrances: 250, policy: 250, endpoints: 300 }
/** The last one has labels. */
const gapParts = [1, 1.15, 1.7]

export function layoutOf(graph: Graph, width: number): Layout {
  return width < narrowest ? stacked(graph, width) : sideBySide(graph, width)
}

function sideBySide(graph: Graph, width: number): Layout {
  const forGaps = Math.max(0.24 * width, width - sumOf(columns.map((column) => columnMost[column])))
  const forBoxes = width - forGaps
  const widthOf = (column: Column) => Math.floor(Math.min(columnMost[column], columnParts[column] * forBoxes))
  const leftover = width - sumOf(columns.map(widthOf))
  const unit = (leftover - 1) / sumOf(gapParts)
  const fitted = columns.map((column) => ofColumn(graph, column).map((node) => fit(node, widthOf(column))))
  const heights = fitted.map(columnHeight)
  const tallest = Math.max(0, ...heights)
  let x = 0
  const headings: Heading[] = []
  const nodes = columns.flatMap((column, index) => {
    headings.push({ column, x, y: 14 })
    const boxWidth = widthOf(column)
    // In the middle of the tallest, so that edges fan out.
    const top = headingHeight + (tallest - (heights[index] ?? 0)) / 2
    const placed = pile(fitted[index] ?? [], { x, y: top, width: boxWidth })
    x += boxWidth + unit * (gapParts[index] ?? 0)
    return placed
  })
  const edges = placeEdges(graph.edges, nodes, sidePath)
  return { isStacked: false, width, height: Math.ceil(headingHeight + tallest + 4), headings, nodes, edges }
}

/** The way of an edge is an arc in a margin at the left, so nothing lies below a box. */
const margin = 48

function stacked(graph: Graph, width: number): Layout {
  let y = 0
  const headings: Heading[] = []
  const nodes = columns.flatMap((column) => {
    const own = ofColumn(graph, column).map((node) => fit(withLabel(node, graph.edges), width - margin - 1))
    if (own.length === 0) return []
    headings.push({ column, x: margin, y: y + 14 })
    const placed = pile(own, { x: margin, y: y + headingHeight - 4, width: width - margin - 1 })
    y += headingHeight - 4 + columnHeight(own) + gapBetween
    return placed
  })
  const edges = placeEdges(graph.edges, nodes, arcPath)
  return { isStacked: true, width, height: Math.ceil(y), headings, nodes, edges }
}

/** An arc has no room for words: the endpoint says them itself. */
function withLabel(node: PictureNode, edges: readonly PictureEdge[]): PictureNode {
  const label = node.column === 'endpoints' ? edges.find(({ to }) => to === node.id)?.label : undefined
  return label === undefined ? node : { ...node, lines: [label, ...node.lines] }
}

function ofColumn({ nodes }: Graph, column: Column): readonly PictureNode[] {
  return nodes.filter((node) => node.column === column)
}

type FittedNode = Omit<PlacedNode, keyof Box>

function fit(node: PictureNode, width: number): FittedNode {
  const room = width - (node.mark === undefined ? besideText : besideMark)
  return {
    node,
    title: cut(node.title, room / (node.isCode === true ? digitWidth.code : digitWidth.title)),
    lines: node.lines.flatMap((line) => broken(line, room / digitWidth.line)),
  }
}

/** In two at most, between words. */
function broken(line: string, most: number): readonly string[] {
  if (line.length <= most) return [line]
  const at = line.lastIndexOf(' ', most)
  return at <= 0 ? [cut(line, most)] : [line.slice(0, at), cut(line.slice(at + 1), most)]
}

function heightOf({ lines }: Pick<FittedNode, 'lines'>): number {
  return padding * 2 + titleHeight + lines.length * lineHeight - 2
}

function columnHeight(nodes: readonly FittedNode[]): number {
  return sumOf(nodes.map((node) => heightOf(node) + gapBetween)) - (nodes.length > 0 ? gapBetween : 0)
}

function pile(nodes: readonly FittedNode[], { x, y, width }: Omit<Box, 'height'>): readonly PlacedNode[] {
  let top = y
  return nodes.map((fitted) => {
    const placed = { ...fitted, x, y: top, width, height: heightOf(fitted) }
    top += placed.height + gapBetween
    return placed
  })
}

/** By letters, not by halves of one. The end of an address tells more than its middle. */
export function cut(text: string, most: number): string {
  const letters = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)
  const room = Math.max(2, Math.floor(most))
  if (letters.length <= room) return text
  const tail = /:\d+$/.exec(text)?.[0] ?? ''
  const head = room - 1 - tail.length
  return head < 4 ? `${letters.slice(0, room - 1).join('')}…` : `${letters.slice(0, head).join('')}…${tail}`
}

type Ends = { readonly from: PlacedNode; readonly fromY: number; readonly to: PlacedNode; readonly toY: number }

function placeEdges(
  edges: readonly PictureEdge[],
  nodes: readonly PlacedNode[],
  draw: (ends: Ends) => { readonly path: string; readonly label?: { readonly x: number; readonly y: number } },
): readonly PlacedEdge[] {
  const byId = new Map(nodes.map((placed) => [placed.node.id, placed]))
  const leaving = counter(edges.map(({ from }) => from))
  const arriving = counter(edges.map(({ to }) => to))
  return edges.flatMap((edge) => {
    const [from, to] = [byId.get(edge.from), byId.get(edge.to)]
    if (from === undefined || to === undefined) return []
    const { path, label } = draw({ from, fromY: leaving(from, edge.from), to, toY: arriving(to, edge.to) })
    return [{ edge, path, ...(edge.label !== undefined && label && { label: { ...label, text: edge.label } }) }]
  })
}

/** Edges at one side of a box are spread over it, in their order. */
function counter(ids: readonly string[]): (box: Box, id: string) => number {
  const total = new Map<string, number>()
  for (const id of ids) total.set(id, (total.get(id) ?? 0) + 1)
  const seen = new Map<string, number>()
  return (box, id) => {
    const index = seen.get(id) ?? 0
    seen.set(id, index + 1)
    const all = total.get(id) ?? 1
    const room = Math.min(box.height - 12, all * 12)
    return box.y + box.height / 2 + (all === 1 ? 0 : (index / (all - 1) - 0.5) * room)
  }
}

function sidePath({ from, fromY, to, toY }: Ends) {
  const [startX, endX] = [from.x + from.width, to.x]
  const bend = (endX - startX) / 2
  const path = `M${at(startX)} ${at(fromY)}C${at(startX + bend)} ${at(fromY)} ${at(endX - bend)} ${at(toY)} ${at(endX)} ${at(toY)}`
  // On the side that the edge does not come from, where no other one arrives beside it.
  const isBelow = to.node.column === 'endpoints' && toY - fromY > 12
  return { path, label: { x: Math.round(endX - 10), y: Math.round(isBelow ? toY + 18 : toY - 8) } }
}

function arcPath({ from, fromY, to, toY }: Ends) {
  const depth = Math.min(margin - 6, 10 + Math.abs(toY - fromY) * 0.12)
  // A curve goes three quarters of the way to the points that pull it.
  const pull = at(from.x - depth / 0.75)
  return { path: `M${at(from.x)} ${at(fromY)}C${pull} ${at(fromY)} ${pull} ${at(toY)} ${at(to.x)} ${at(toY)}` }
}

function at(value: number): number {
  return Math.round(value * 10) / 10
}

function sumOf(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0)
}
