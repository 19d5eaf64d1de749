/**
 * Answers a question about a connection. It decides nothing: it looks for the Route that the backend programs, and says
 * what the Route says, with the reasons of those who made it and the traits of the mode.
 */
import { familyOf } from '../../net/ip.ts'
import type { Answer, Explanation, Question, Target } from './explanation.ts'
import { findAt, findNodePort } from './find-entrance.ts'
import { explainNobody } from './nobody.ts'
import { explainFound } from './of-entrance.ts'
import { explainService } from './of-service.ts'
import type { Scene, World } from './world.ts'

export function explain(question: Question, world: World): Answer {
  const { catalog, families } = world
  if (!catalog.isInitialised || families.some(({ table }) => !table.isInitialised))
    return {
      ok: false,
      kind: 'not ready',
      message: 'the lists of Services and EndpointSlices are not complete yet: ask again in a moment',
    }
  const { target } = question
  switch (target.kind) {
    case 'address':
      return atAddress(question, target, world)
    case 'node-port':
      return atNodePort(question, target, world)
    case 'service':
      return explainService(question, target, world)
    default:
      return target satisfies never
  }
}

function atAddress(question: Question, target: Extract<Target, { kind: 'address' }>, world: World): Answer {
  const { ip, port, protocol } = target
  const family = world.families.find((it) => it.family === familyOf(ip))
  if (family === undefined) return mistake(`this node does not proxy ${familyOf(ip) === 'ipv4' ? 'IPv4' : 'IPv6'}`)
  const problem = familyMismatch(question, familyOf(ip))
  if (problem !== undefined) return mistake(problem)
  const scene = { ...world, ...family }
  const found = findAt(ip, port, protocol, scene)
  const explanation =
    found === undefined ? explainNobody({ ip, port, protocol }, question, scene) : explainFound(found, question, scene)
  return { ok: true, question, explanations: [explanation] }
}

function atNodePort(question: Question, target: Extract<Target, { kind: 'node-port' }>, world: World): Answer {
  const { port, protocol } = target
  const explanations = world.families.flatMap((family): readonly Explanation[] => {
    if (familyMismatch(question, family.family) !== undefined) return []
    const scene = { ...world, ...family }
    const found = findNodePort(port, protocol, scene)
    return found === undefined ? [] : [explainFound(found, question, scene)]
  })
  if (explanations.length > 0) return { ok: true, question, explanations }
  const [family] = world.families
  if (family === undefined) return mistake('this node proxies no IP family')
  return { ok: true, question, explanations: [explainNobody({ port, protocol }, question, { ...world, ...family })] }
}

function familyMismatch({ from }: Question, family: Scene['family']): string | undefined {
  if (from.kind !== 'ip' || familyOf(from.ip) === family) return undefined
  return `${from.ip} cannot reach an ${family === 'ipv4' ? 'IPv4' : 'IPv6'} address: give --from an address of that family`
}

function mistake(message: string): Answer {
  return { ok: false, kind: 'mistake', message }
}
