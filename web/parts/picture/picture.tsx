/** One Service port from its clients to its endpoints, alive. Who cannot see it reads the table. */
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { PortDetail } from '../../../src/observe/console/wire.ts'
import { dotGap, dotsOf, edgeWidth } from './flow.ts'
import { graphOf } from './graph.ts'
import type { Column, GraphOptions } from './graph.ts'
import { layoutOf } from './layout.ts'
import type { PlacedEdge, PlacedNode } from './layout.ts'
import { MarkShape } from './mark.tsx'
import { PictureTable } from './picture-table.tsx'
import './picture.css'

const headings: Readonly<Record<Column, string>> = {
  clients: 'Clients',
  entrances: 'Addresses',
  policy: 'Policy',
  endpoints: 'Endpoints',
}

export interface PictureProps {
  readonly port: PortDetail
  /** What the Service does that is not the default: `ServiceRow.policies`. */
  readonly policies?: readonly string[] | undefined
  /** What only the page knows. */
  readonly known?: Pick<GraphOptions, 'names' | 'clients' | 'servedAt'>
}

export function Picture({ port, policies = [], known = {} }: PictureProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useSignal(0)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const measure = () => (width.value = Math.floor(element.clientWidth))
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [width])

  // The others are told where they belong: at the address, the policy or the endpoint.
  const remarks = policies.filter((text) => /zone|node|topology/i.test(text))
  const graph = useMemo(() => graphOf(port, { remarks, ...known }), [port, remarks.join(), known])
  const { height, nodes, edges, headings: places } = layoutOf(graph, width.value)
  return (
    <figure class="picture">
      <div ref={box} class="picture-box">
        {width.value > 0 && (
          <svg
            role="img"
            aria-label={`Who reaches ${port.route}, and who answers. The same is in the table below.`}
            width={width.value}
            height={height}
            viewBox={`0 0 ${width.value} ${height}`}
          >
            {places.map(({ column, x, y }) => (
              <text key={column} class="picture-heading" x={x} y={y}>
                {headings[column]}
              </text>
            ))}
            {edges.map((edge) => (
              <Edge key={`${edge.edge.from}>${edge.edge.to}`} {...edge} />
            ))}
            {nodes.map((placed) => (
              <Node key={placed.node.id} {...placed} />
            ))}
            {edges.map(({ edge, label }) =>
              label === undefined ? null : (
                <text key={`${edge.from}>${edge.to}`} class="picture-label" x={label.x} y={label.y}>
                  {label.text}
                </text>
              ),
            )}
          </svg>
        )}
      </div>
      <figcaption>
        <details class="picture-words">
          <summary>The picture in words</summary>
          <PictureTable port={port} />
        </details>
      </figcaption>
    </figure>
  )
}

function Edge({ edge, path }: PlacedEdge) {
  const dots = dotsOf(edge)
  const width = edgeWidth(edge)
  return (
    <g class="picture-edge" data-refused={edge.isRefused}>
      <path class="picture-way" d={path} stroke-width={width} />
      {dots !== undefined && (
        <path
          class="picture-dots"
          d={path}
          data-faint={dots.isFaint || undefined}
          stroke-width={Math.max(4, width - 1)}
          stroke-dasharray={`0 ${dotGap}`}
          style={{ animationDuration: `${dots.seconds}s` }}
        />
      )}
    </g>
  )
}

function Node({ node, x, y, width, height, title, lines }: PlacedNode) {
  const textX = node.mark === undefined ? 12 : 30
  return (
    <g class="picture-node" data-column={node.column} data-faint={node.isFaint} data-mark={node.mark}>
      <title>{[node.title, ...node.lines].join('\n')}</title>
      <g transform={`translate(${x} ${y})`}>
        <rect width={width} height={height} rx={7} />
        {node.mark !== undefined && <MarkShape mark={node.mark} x={16} y={18} />}
        <text class="picture-title" data-code={node.isCode} x={textX} y={23}>
          {title}
        </text>
        {lines.map((line, index) => (
          <text key={index} class="picture-line" x={textX} y={41 + index * 17}>
            {line}
          </text>
        ))}
      </g>
    </g>
  )
}
