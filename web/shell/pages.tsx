/** The pages, in the order of the menu. */
import type { ComponentChildren } from 'preact'
import type { About } from '../../src/observe/console/wire.ts'
import type { IconName } from '../parts/icon.tsx'
import { DemoPage } from '../pages/demo/demo-page.tsx'
import { OverviewPage } from '../pages/overview/overview-page.tsx'
import { DoctorPage } from '../pages/doctor/doctor-page.tsx'
import { ExplainPage } from '../pages/explain/explain-page.tsx'
import { NodesPage } from '../pages/nodes/nodes-page.tsx'
import { RulesPage } from '../pages/rules/rules-page.tsx'
import { ServicesPage } from '../pages/services/services-page.tsx'
import { ServicePage } from '../pages/service/service-page.tsx'
import { SyncPage } from '../pages/syncs/sync-page.tsx'
import { SyncsPage } from '../pages/syncs/syncs-page.tsx'

export interface Page {
  readonly title: string
  /** Of its address. What follows it is handed to the view, in parts. */
  readonly path: string
  /** Reached by links, not from the menu. */
  readonly isDetail?: true
  /** After `g`, it leads here. */
  readonly letter?: string
  readonly icon?: IconName
  /** What it is called in place of its title, for what follows its path. */
  readonly heading?: (rest: readonly string[]) => string | undefined
  readonly isOffered: (about: About) => boolean
  readonly view: (rest: readonly string[]) => ComponentChildren
}

export const pages: readonly Page[] = [
  {
    title: 'Overview',
    path: '/',
    letter: 'o',
    icon: 'overview',
    isOffered: ({ kind, isDemo }) => kind === 'node' && !isDemo,
    view: () => <OverviewPage />,
  },
  // It has the first page there, and the overview is another one.
  { title: 'Demo', path: '/', icon: 'demo', isOffered: ({ isDemo }) => isDemo, view: () => <DemoPage /> },
  {
    title: 'Overview',
    path: '/overview',
    letter: 'o',
    icon: 'overview',
    isOffered: ({ isDemo }) => isDemo,
    view: () => <OverviewPage />,
  },
  { title: 'Nodes', path: '/', icon: 'nodes', isOffered: isCore, view: () => <NodesPage /> },
  {
    title: 'Nodes',
    path: '/nodes',
    isDetail: true,
    isOffered: isCore,
    view: () => <NodesPage />,
  },
  {
    title: 'Services',
    path: '/services',
    letter: 's',
    icon: 'services',
    heading: (rest) => (rest.length === 0 ? undefined : rest.join('/')),
    isOffered: ({ kind }) => kind === 'node',
    view: ([namespace, name]) =>
      namespace === undefined || name === undefined ? (
        <ServicesPage />
      ) : (
        <ServicePage namespace={namespace} name={name} />
      ),
  },
  {
    title: 'Explain',
    path: '/explain',
    letter: 'e',
    icon: 'explain',
    isOffered: ({ debugPages }) => debugPages.includes('/debug/explain'),
    view: () => <ExplainPage />,
  },
  {
    title: 'Syncs',
    path: '/syncs',
    letter: 'y',
    icon: 'syncs',
    heading: ([traceId]) => (traceId === undefined ? undefined : 'Sync'),
    isOffered: ({ topics }) => topics.includes('syncs'),
    view: ([traceId]) => (traceId === undefined ? <SyncsPage /> : <SyncPage traceId={traceId} />),
  },
  {
    title: 'Doctor',
    path: '/doctor',
    letter: 'd',
    icon: 'doctor',
    isOffered: ({ debugPages }) => debugPages.includes('/debug/doctor'),
    view: () => <DoctorPage />,
  },
  {
    title: 'Rules',
    path: '/rules',
    letter: 'r',
    icon: 'rules',
    isOffered: ({ debugPages }) => debugPages.includes('/debug/rules'),
    view: () => <RulesPage />,
  },
]

function isCore({ kind }: About): boolean {
  return kind === 'core'
}

/** The one with the longest path that fits, of those that this server has. */
export function pageAt(
  pathname: string,
  about: About | undefined,
): { readonly page: Page; readonly rest: readonly string[] } | undefined {
  const fitting = pages
    .filter(({ path }) => pathname === path || (path !== '/' && pathname.startsWith(`${path}/`)))
    .filter(({ isOffered }) => about === undefined || isOffered(about))
    .sort((a, b) => b.path.length - a.path.length)
  const [page] = fitting
  if (page === undefined) return undefined
  const rest = pathname.slice(page.path.length).split('/').filter(Boolean)
  return { page, rest: rest.map(decoded) }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
