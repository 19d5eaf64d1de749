/** A recorder whose trees a test looks at. */
import type { Clock } from '../../../core/clock.ts'
import type { SpanRecord } from '../../../core/trace.ts'
import { TraceRecorder } from '../trace-recorder.ts'

export function recordedTrees(clock: Pick<Clock, 'now' | 'monotonic'>) {
  const trees: SpanRecord[] = []
  const tracer = new TraceRecorder({ clock, sinks: [{ finished: (root) => trees.push(root) }] })
  /** Those with this name, the newest last. */
  const named = (name: string) => trees.filter((tree) => tree.name === name)
  return { tracer, trees, named }
}

/** The names, one line per span, parts below what they are part of; of the attributes only those. */
export function treeLines(tree: SpanRecord, attributes: readonly string[] = [], indent = ''): readonly string[] {
  const shown = attributes.flatMap((name) =>
    tree.attributes[name] === undefined ? [] : ` ${name}=${String(tree.attributes[name])}`,
  )
  const line = `${indent}${tree.name}${shown.join('')}${tree.error === undefined ? '' : ' FAILED'}`
  return [line, ...tree.children.flatMap((child) => treeLines(child, attributes, `${indent}  `))]
}

/** What is wrong with the times of a tree: every part lies within what it is part of. */
export function misplacedIn(tree: SpanRecord): readonly string[] {
  // A wall-clock time of today leaves a quarter of a microsecond for fractions.
  const slackMs = 0.001
  return tree.children.flatMap((child) => {
    const isWithin =
      child.durationMs >= 0 &&
      child.startMs >= tree.startMs - slackMs &&
      child.startMs + child.durationMs <= tree.startMs + tree.durationMs + slackMs
    const isOurs = child.parentSpanId === tree.context.spanId && child.context.traceId === tree.context.traceId
    return [
      ...(isWithin ? [] : [`${child.name} is not within ${tree.name}`]),
      ...(isOurs ? [] : [`${child.name} does not name ${tree.name} as its parent`]),
      ...misplacedIn(child),
    ]
  })
}
