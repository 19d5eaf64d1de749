/** Explanations for people: step by step, in short sentences, no wider than the terminal. */
import type { Explanation, SourceSeen } from '../../core/explain/explanation.ts'
import { entranceWords } from '../../core/explain/entrance-words.ts'
import { becauseWords, verdictText, whyNotText } from '../../core/explain/words.ts'
import { breakWords } from '../../config/flags/break-words.ts'
import { placeText } from '../../core/routing/claim-texts.ts'
import type { ToldExplanation, ToldStep } from '../../observe/console/wire.ts'
import { renderTable } from '../table.ts'
import { paint } from '../terminal.ts'
import type { Terminal } from '../terminal.ts'
import { clientSentence, destinationText, entranceSentence, refusedSentence, seenText, sourceText } from './phrases.ts'
import { piecesText, wrongPieces } from './pieces-text.ts'

export function explanationText(explanation: Explanation, terminal: Terminal): string {
  const told = tellExplanation(explanation)
  const steps = told.steps.map((step, index) => stepText(step, index + 1, terminal))
  return `${headText(told, explanation, terminal)}\n${steps.join('')}${piecesText(explanation, terminal)}`
}

/** All that the text says but for the pieces, for those that set it in their own way. */
export function tellExplanation(explanation: Explanation): ToldExplanation {
  const { mode, family, node, destination, source } = explanation
  const where = `on ${node.name} (${mode}, ${family === 'ipv4' ? 'IPv4' : 'IPv6'})`
  return {
    title: `${destinationText(destination)} from ${sourceText(source)}, ${where}`,
    verdict: verdictSentence(explanation),
    ...(wrongPieces(explanation) > 0 && { doubt: doubtText }),
    steps: stepsOf(explanation),
  }
}

export function verdictSentence(explanation: Explanation): string {
  return sentence(verdictText(explanation))
}

function headText({ title, verdict, doubt }: ToldExplanation, explanation: Explanation, terminal: Terminal): string {
  const colour = explanation.verdict.kind === 'forward' ? 'bold' : 'red'
  const doubtLine = doubt === undefined ? '' : `${paint(terminal, 'red', doubt)}\n`
  return `${paint(terminal, 'bold', title)}\n${paint(terminal, colour, verdict)}\n${doubtLine}`
}

const doubtText = 'This is the plan. What is there differs from it (see the end), so packets may fare otherwise.'

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function stepsOf(explanation: Explanation): readonly ToldStep[] {
  const { refused, near, notices, source } = explanation
  return [
    { says: clientSentence(source) },
    { says: entranceSentence(explanation) },
    ...refused.map((it) => ({ says: refusedSentence(it) })),
    ...rangeSteps(explanation),
    ...policySteps(explanation),
    ...outcomeSteps(explanation),
    ...near.map((it) => ({ says: `Near it: ${it}.` })),
    ...notUsedSteps(explanation),
    ...afterwards(explanation),
    ...notices.map(({ text }) => ({ says: `Notice: ${text}.` })),
    ...observedSteps(explanation),
  ]
}

function rangeSteps({ sourceRanges }: Explanation): readonly ToldStep[] {
  if (sourceRanges === undefined) return []
  const { ranges, isAllowed, isEnforced, why } = sourceRanges
  const list = ranges.length === 0 ? 'none that can be used' : ranges.join(', ')
  const then = isEnforced && isAllowed === 'depends' ? ' Others are dropped. This is about one that may come.' : ''
  return [{ says: `loadBalancerSourceRanges: ${list}. ${sentence(why)}${then}` }]
}

function policySteps({ policy, verdict }: Explanation): readonly ToldStep[] {
  const isAbout = verdict.kind === 'forward' || verdict.kind === 'reject' || verdict.kind === 'drop'
  if (policy === undefined || !isAbout) return []
  if (verdict.kind === 'drop' && verdict.because === 'source not allowed') return []
  const link = policy.policy === policy.asked ? ':' : ', but'
  return [{ says: `${policy.field} is ${policy.asked}${link} ${policy.why}.` }]
}

function outcomeSteps(explanation: Explanation): readonly ToldStep[] {
  const { verdict, remarks, answerers } = explanation
  const remarked = remarks.map((it) => ({ says: sentence(it) }))
  if (verdict.kind !== 'forward') return [...remarked, { says: sentence(endText(explanation)) }]
  const { choice = '', topology, whyNoHints, affinitySeconds, node } = explanation
  const says =
    answerers.length === 1
      ? 'This endpoint answers:'
      : `One of these ${answerers.length} endpoints answers, chosen ${choice}:`
  const hasZones = answerers.some(({ zone }) => zone !== undefined)
  const rows = answerers.map(({ address, nodeName, zone, share, sourceSeen, isLastResort }) => [
    address,
    nodeName || '-',
    ...(hasZones ? [zone ?? '-'] : []),
    share === undefined ? '?' : `${share.part}/${share.of}`,
    `${seenWords[sourceSeen]}${isLastResort ? ' (ending: nothing better is left)' : ''}`,
  ])
  return [
    ...hintSteps(topology, node.zone, whyNoHints),
    { says, lists: { header: ['ENDPOINT', 'NODE', ...(hasZones ? ['ZONE'] : []), 'SHARE', 'SEES'], rows } },
    ...remarked,
    ...affinitySteps(affinitySeconds, answerers.length),
  ]
}

function endText({ verdict, clientSees, destination }: Explanation): string {
  const seen = seenText(clientSees, destination.protocol)
  return verdict.kind === 'reject' || verdict.kind === 'drop' ? `${becauseWords[verdict.because]}: ${seen}` : seen
}

const seenWords: Readonly<Record<SourceSeen, string>> = {
  client: 'the client',
  node: 'this node',
  depends: 'the client or this node',
}

function hintSteps(topology: Explanation['topology'], zone: string, whyNot: string | undefined): readonly ToldStep[] {
  if (whyNot !== undefined) return [{ says: `Hints of the endpoints are not used: ${whyNot}.` }]
  if (topology === 'none') return []
  return [
    {
      says:
        topology === 'PreferSameNode'
          ? 'Hints of the endpoints keep the traffic on this node.'
          : `Hints of the endpoints keep the traffic in zone ${zone}.`,
    },
  ]
}

function affinitySteps(seconds: number | undefined, endpoints: number): readonly ToldStep[] {
  if (seconds === undefined || endpoints < 2) return []
  return [
    { says: `A client stays with its endpoint until ${seconds} s after its last new connection (sessionAffinity).` },
  ]
}

function notUsedSteps({ others, verdict }: Explanation): readonly ToldStep[] {
  const isMeant = verdict.kind !== 'untouched' || verdict.because === 'no endpoint'
  if (others.length === 0 || !isMeant) return []
  const hasZones = others.some(({ zone }) => zone !== undefined)
  const rows = others.map((other) => [
    other.address,
    other.nodeName || '-',
    ...(hasZones ? [other.zone ?? '-'] : []),
    whyNotText(other),
  ])
  const says =
    others.length === 1 ? 'This endpoint does not answer:' : `These ${others.length} endpoints do not answer:`
  return [{ says, lists: { header: ['ENDPOINT', 'NODE', ...(hasZones ? ['ZONE'] : []), 'WHY'], rows } }]
}

function afterwards(explanation: Explanation): readonly ToldStep[] {
  const { sourceSeenWhy, withoutEndpoints, healthCheck, otherEntrances, destination } = explanation
  const steps: ToldStep[] = []
  if (sourceSeenWhy !== undefined) steps.push({ says: seenSentence(explanation, sourceSeenWhy) })
  if (withoutEndpoints !== undefined) steps.push({ says: lossSentence(withoutEndpoints, destination.protocol) })
  if (healthCheck !== undefined) {
    const { port, localEndpoints: count } = healthCheck
    const ready =
      count === 0
        ? 'no endpoint of this node is ready, so they stay away'
        : `${count === 1 ? '1 endpoint of this node is' : `${count} endpoints of this node are`} ready`
    steps.push({ says: `Load balancers ask for the health at port ${port}: ${ready}.` })
  }
  if (otherEntrances.length > 0)
    steps.push({
      says: `Other ways in: ${otherEntrances
        .map((place) => `${entranceWords[place.kind]} ${placeText(place)}`)
        .join(', ')}.`,
    })
  return steps
}

function lossSentence(
  { clientSees, whileOthersHave }: NonNullable<Explanation['withoutEndpoints']>,
  protocol: string,
): string {
  const atLast = `once no endpoint is left, ${seenText(clientSees, protocol)}`
  if (whileOthersHave === undefined) return sentence(atLast)
  return sentence(`once this node has none, ${seenText(whileOthersHave, protocol)}; ${atLast}`)
}

function seenSentence({ answerers, source }: Explanation, why: string): string {
  const kinds = new Set(answerers.map(({ sourceSeen }) => sourceSeen))
  if (kinds.has('depends')) return `Whose address endpoints see: ${why}.`
  if (kinds.size === 1)
    return `Endpoints see the address of ${kinds.has('client') ? 'the client' : 'this node'}: ${why}.`
  const isItself = answerers.some(({ address }) => source.ip !== undefined && address.includes(source.ip))
  return isItself
    ? `Endpoints see the address of the client: ${why}. One that is the client itself sees this node.`
    : `Endpoints see the address of this node: ${why}. One in the network of this node sees the client.`
}

function observedSteps({ observed }: Explanation): readonly ToldStep[] {
  if (observed === undefined) return []
  const { notProgrammed, timeToSafety, openConnections, failedDials, uncounted, skew } = observed
  const steps: ToldStep[] = []
  if (notProgrammed !== undefined) steps.push({ says: `Not all of it is programmed: ${notProgrammed}.` })
  if (timeToSafety !== undefined) {
    const { seconds, endpoint } = timeToSafety
    const which = endpoint === undefined ? 'an endpoint' : `endpoint ${endpoint}`
    steps.push({
      says: `The last time ${which} was removed, this node stopped using it after ${seconds.toFixed(2)} s.`,
    })
  }
  if (uncounted !== undefined) steps.push({ says: `How many connections are open is not known: ${uncounted}.` })
  if (openConnections !== undefined && Object.keys(openConnections).length > 0) {
    const uneven = skew === undefined ? '' : `, the busiest has ${skew.ratio.toFixed(1)} times an even share`
    const rows = Object.entries(openConnections).map(([address, open]) => [address, String(open)])
    steps.push({ says: `Open connections${uneven}:`, lists: { header: ['ENDPOINT', 'OPEN'], rows } })
  }
  if (failedDials !== undefined) {
    const rows = Object.entries(failedDials).map(([address, { count, lastUsed = '-' }]) => [
      address,
      `${count}`,
      lastUsed,
    ])
    steps.push({ says: failedDialsText, lists: { header: ['ENDPOINT', 'FAILED DIALS', 'LAST USE'], rows } })
  }
  return steps
}

/** Shares are those of the plan. */
const failedDialsText = 'Dials that failed. After one an endpoint is tried last for up to a minute:'

function stepText({ says, lists }: ToldStep, number: number, { columns = defaultWidth }: Terminal): string {
  const start = `${number}. `
  const indent = ' '.repeat(start.length)
  const lines = breakWords(says, columns - start.length)
  const text = `${start}${lines.join(`\n${indent}`)}\n`
  if (lists === undefined) return text
  const table = renderTable(lists.header, lists.rows, columns - indent.length)
  return `${text}${table.replace(/^(?=.)/gm, indent)}`
}

/** In a pipe or a file, where lines may have any length. */
const defaultWidth = 100
