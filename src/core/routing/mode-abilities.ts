/** What a mode can do of what Services wish by annotation. The rest is refused here, for every mode alike, and said aloud. */
import { trafficAnnotations } from '../../api/parse-traffic.ts'
import { algorithms } from '../../api/records.ts'
import { usualWeight } from '../../api/parse-weights.ts'
import type { Algorithm, PortRange, ServiceRecord, SliceRecord, TrafficWishes, WeightRules } from '../../api/records.ts'
import type { GrantedTraffic } from '../route.ts'

export interface ModeAbilities {
  readonly mode: string
  readonly algorithms: readonly Algorithm[]
  /** How an endpoint may be chosen for a client that client-IP affinity will keep there. */
  readonly algorithmsWithAffinity: readonly Algorithm[]
  /** Endpoints may have other shares than equal ones. Without it a weight of 0 still keeps new connections away. */
  readonly weights: boolean
  /** All else that its backend does itself. One that must know beforehand that weights will change asks for `slowStartMs`. */
  readonly limits: readonly LimitWish[]
  /** A range of ports may lead to the same ports of the endpoints. */
  readonly portRanges: boolean
  /** Why this node cannot do what the mode can do elsewhere: a sentence, with the way out. */
  readonly lacking?: Readonly<Partial<Record<Algorithm, string>>>
  /** What it can do besides, if the administrator asks for it: by which flag. */
  readonly onRequest?: Readonly<Partial<Record<LimitWish, string>>>
}

/** Wishes that a backend fulfils, besides the algorithm. */
type LimitWish = Exclude<keyof GrantedTraffic, 'algorithm'>

const limitWishes = [
  'ipvsScheduler',
  'maxConnectionAgeMs',
  'maxConnections',
  'maxConnectionsPerEndpoint',
  'maxDialsPerSecond',
  'maxDialsPerSecondPerEndpoint',
] as const satisfies readonly LimitWish[]

export const allAbilities: ModeAbilities = {
  mode: 'any',
  algorithms,
  algorithmsWithAffinity: algorithms,
  weights: true,
  limits: limitWishes,
  portRanges: true,
}

/** With what the administrator asked for, by these flags. */
export function withRequested(abilities: ModeAbilities, flags: readonly string[]): ModeAbilities {
  const { limits, onRequest = {} } = abilities
  const asked = limitWishes.filter((wish) => flags.includes(onRequest[wish] ?? '') && !limits.includes(wish))
  return asked.length === 0 ? abilities : { ...abilities, limits: [...limits, ...asked] }
}

/** What the Service wishes, or the administrator for all that wish nothing. */
export interface WishContext {
  readonly abilities: ModeAbilities
  readonly algorithm: Algorithm | undefined
}

type Wishing = Pick<ServiceRecord, 'traffic' | 'affinitySeconds'>

/** Nearly every Service wishes nothing, and gets the same object or none. */
export function grantedTraffic(
  service: Wishing,
  { abilities, algorithm: usual }: WishContext,
): GrantedTraffic | undefined {
  const { traffic } = service
  const algorithm = possible(traffic?.algorithm, service, abilities) ?? possible(usual, service, abilities)
  const granted = traffic === undefined ? none : abilities.limits.filter((wish) => traffic[wish] !== undefined)
  if (algorithm === undefined && granted.length === 0) return undefined
  return {
    ...(algorithm !== undefined && { algorithm }),
    ...Object.fromEntries(granted.map((wish) => [wish, traffic?.[wish]])),
  }
}

const none: readonly LimitWish[] = []

function possible(algorithm: Algorithm | undefined, service: Wishing, abilities: ModeAbilities): Algorithm | undefined {
  return algorithm !== undefined && algorithmsFor(service, abilities).includes(algorithm) ? algorithm : undefined
}

function algorithmsFor({ affinitySeconds }: Wishing, abilities: ModeAbilities): readonly Algorithm[] {
  return affinitySeconds === 0 ? abilities.algorithms : abilities.algorithmsWithAffinity
}

/** The range of ports that the Service wants, if the mode can do it. */
export function grantedPortRange(
  { traffic }: Pick<ServiceRecord, 'traffic'>,
  { portRanges }: ModeAbilities,
): PortRange | undefined {
  return portRanges ? traffic?.portRange : undefined
}

/** One sentence for each annotation that the mode cannot honour. */
export function refusedTraffic(service: Wishing, abilities: ModeAbilities): readonly string[] {
  const { traffic } = service
  if (traffic === undefined) return noSentences
  const { mode } = abilities
  const isUnable = (wish: keyof TrafficWishes) =>
    wish === 'weights'
      ? ignoresWeights(traffic.weights, abilities)
      : wish === 'slowStartMs'
        ? !abilities.weights
        : wish === 'portRange'
          ? !abilities.portRanges
          : limitWishes.some((limit) => limit === wish && !abilities.limits.includes(limit))
  const refused = (Object.keys(traffic) as (keyof TrafficWishes)[]).filter(isUnable).map((wish) => {
    const flag = abilities.onRequest?.[wish as LimitWish]
    const why = flag === undefined ? `the ${mode} mode cannot do it` : `the ${mode} mode does it only with ${flag}`
    const what = wish === 'weights' ? ': weights other than 0 are' : ' is'
    return `${trafficAnnotations[wish]}${what} ignored: ${why}`
  })
  if (traffic.algorithm === undefined || possible(traffic.algorithm, service, abilities) !== undefined) return refused
  const asked = `${trafficAnnotations.algorithm}: ${traffic.algorithm} is ignored`
  const others = algorithmsFor(service, abilities)
  const isAffinityToBlame = abilities.algorithms.includes(traffic.algorithm)
  const why =
    abilities.lacking?.[traffic.algorithm] ??
    `the ${mode} mode cannot do it${isAffinityToBlame ? ' for a Service with client-IP affinity' : ''}`
  const instead = others.length === 0 ? '' : `; it can do ${others.join(', ')}`
  return [`${asked}: ${why}${instead}`, ...refused]
}

/** The same for the weights of a slice. */
export function refusedWeights({ name, weights }: SliceRecord, abilities: ModeAbilities): string | undefined {
  return ignoresWeights(weights, abilities)
    ? `${trafficAnnotations.weights} of EndpointSlice ${name}: weights other than 0 are ignored: the ${abilities.mode} mode cannot do it`
    : undefined
}

/** A mode without weights still drains where the weight is 0, and gives equal shares to the others. */
function ignoresWeights(rules: WeightRules | undefined, { weights }: ModeAbilities): boolean {
  return !weights && rules?.some(({ weight }) => weight !== 0 && weight !== usualWeight) === true
}

const noSentences: readonly string[] = []
