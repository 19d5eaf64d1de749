/** The state of the node, and how much there is, in large letters. */
import type { ComponentChildren } from 'preact'
import type { Overview } from '../../../src/observe/console/wire.ts'
import { about } from '../../live/live.ts'
import { familyName } from '../../parts/family-name.ts'
import { ago, duration, wholeNumber } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import type { IconName } from '../../parts/icon.tsx'

type Tone = 'good' | 'warn' | 'bad'

export function Tiles({ overview }: { readonly overview: Overview }) {
  const { counts } = overview
  const without = counts.servicesWithoutEndpoints
  return (
    <>
      <dl class="tiles tiles-state">
        <Source overview={overview} />
        <Health overview={overview} />
        <Mode at={overview.at} />
      </dl>
      <dl class="tiles tiles-counts">
        <Tile title="Services" href="/services">
          {wholeNumber(counts.services)}
        </Tile>
        <Tile title="Endpoints">{wholeNumber(counts.endpoints)}</Tile>
        <Tile
          title="Without endpoints"
          href="/services?filter=no-endpoints"
          {...(without > 0 && { tone: 'warn', icon: 'warning' })}
        >
          {wholeNumber(without)}
        </Tile>
        <Tile title="Ports programmed">{wholeNumber(counts.routes)}</Tile>
      </dl>
    </>
  )
}

const sources: Readonly<Record<Overview['source']['state'], readonly [text: string, tone: Tone, icon: IconName]>> = {
  live: ['In contact', 'good', 'good'],
  saved: ['From what was saved', 'warn', 'warning'],
  waiting: ['Waiting', 'warn', 'warning'],
  lost: ['Lost', 'bad', 'error'],
}

function Source({ overview: { at, source } }: { readonly overview: Overview }) {
  const [text, tone, icon] = sources[source.state]
  const { from, lastContact } = source
  // Nobody speaks to files: they are read, and again when they change.
  const isRead = source.state === 'live' && lastContact === undefined
  const heard = lastContact === undefined ? 'not heard of yet' : `heard ${ago(lastContact, Date.parse(at))}`
  return (
    <Tile title="Source" tone={tone} icon={icon} more={isRead ? from : `${from}, ${heard}`}>
      {isRead ? 'Read' : text}
    </Tile>
  )
}

function Health({ overview: { isHealthy, isReady } }: { readonly overview: Overview }) {
  const [text, tone, icon]: readonly [string, Tone, IconName] = !isHealthy
    ? ['Not healthy', 'bad', 'error']
    : isReady
      ? ['Healthy', 'good', 'good']
      : ['Not ready', 'warn', 'warning']
  const more = isReady ? 'ready for traffic' : 'no traffic should be sent here yet'
  return (
    <Tile title="Health" tone={tone} icon={icon} more={more}>
      {text}
    </Tile>
  )
}

function Mode({ at }: { readonly at: string }) {
  const { mode = 'not known', families = [], startedAt } = about.value ?? {}
  const since =
    startedAt === undefined ? '' : `, runs for ${duration(Math.max(0, Date.parse(at) - Date.parse(startedAt)))}`
  return (
    <Tile title="Mode" more={families.map(familyName).join(' and ') + since}>
      {mode}
    </Tile>
  )
}

interface TileProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly more?: string
  readonly href?: string
  readonly tone?: Tone
  readonly icon?: IconName
}

function Tile({ title, children, more, href, tone, icon }: TileProps) {
  const value = (
    <>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </>
  )
  return (
    <div class="tile card" data-tone={tone}>
      <dt>{title}</dt>
      <dd class="tile-value">{href === undefined ? value : <a href={href}>{value}</a>}</dd>
      {more !== undefined && <dd class="tile-more quiet small breaks">{more}</dd>}
    </div>
  )
}
