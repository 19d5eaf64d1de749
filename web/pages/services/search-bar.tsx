/** The question: words, filters, a namespace, and the order where there are no heads of columns to press. */
import { useMemo } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { wholeNumber } from '../../parts/format.ts'
import { columnTitles } from './columns.tsx'
import { columns, filters, nextSort } from './question.ts'
import type { Filter, Question } from './question.ts'
import type { ServiceList } from './service-list.ts'

interface SearchBarProps {
  readonly list: ServiceList
  readonly question: Question
  readonly onAsk: (question: Question) => void
  /** On to the list. */
  readonly onEnter: () => void
}

const filterTitles: Readonly<Record<Filter, string>> = {
  problem: 'With problem',
  'no-endpoints': 'No endpoints',
  external: 'External',
  policy: 'Policy',
}

export function SearchBar({ list, question, onAsk, onEnter }: SearchBarProps) {
  return (
    <form class="search-bar" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="search-field">
        <span class="visually-hidden">Search Services</span>
        <Icon name="search" />
        <input
          class="field"
          type="search"
          placeholder="Name, namespace, IP, port"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={question.text}
          onInput={({ currentTarget }) => onAsk({ ...question, text: currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== 'ArrowDown' && event.key !== 'Enter') return
            event.preventDefault()
            onEnter()
          }}
        />
      </label>
      <Filters list={list} question={question} onAsk={onAsk} />
      <NamespaceChoice list={list} question={question} onAsk={onAsk} />
      <SortChoice question={question} onAsk={onAsk} />
    </form>
  )
}

type PartProps = Pick<SearchBarProps, 'list' | 'question' | 'onAsk'>

function Filters({ list, question, onAsk }: PartProps) {
  const toggled = (filter: Filter) => filters.filter((one) => question.filters.includes(one) !== (one === filter))
  return (
    <div class="filters" role="group" aria-label="Filters">
      {filters.map((filter) => (
        <button
          key={filter}
          class="button"
          type="button"
          aria-pressed={question.filters.includes(filter)}
          onClick={() => onAsk({ ...question, filters: toggled(filter) })}
        >
          {filterTitles[filter]} <span class="filter-count">{wholeNumber(list.count(filter))}</span>
        </button>
      ))}
    </div>
  )
}

function NamespaceChoice({ list, question, onAsk }: PartProps) {
  const { namespaces } = list
  const options = useMemo(
    () =>
      namespaces.map(([name, services]) => (
        <option key={name} value={name}>
          {name} ({wholeNumber(services)})
        </option>
      )),
    [namespaces],
  )
  const isGone = question.namespace !== '' && !namespaces.some(([name]) => name === question.namespace)
  return (
    <select
      class="field namespace-choice"
      aria-label="Namespace"
      value={question.namespace}
      onChange={({ currentTarget }) => onAsk({ ...question, namespace: currentTarget.value })}
    >
      <option value="">All namespaces</option>
      {isGone && <option value={question.namespace}>{question.namespace} (0)</option>}
      {options}
    </select>
  )
}

function SortChoice({ question, onAsk }: Omit<PartProps, 'list'>) {
  const { sort } = question
  return (
    <div class="sort-choice">
      <select
        class="field"
        aria-label="Sort by"
        value={sort.column}
        onChange={({ currentTarget }) => {
          const column = columns.find((one) => one === currentTarget.value) ?? 'name'
          onAsk({ ...question, sort: nextSort({ column: 'name', isDescending: true }, column) })
        }}
      >
        {columns.map((column) => (
          <option key={column} value={column}>
            By {columnTitles[column].toLowerCase()}
          </option>
        ))}
      </select>
      <button
        class="button"
        type="button"
        aria-pressed={sort.isDescending}
        onClick={() => onAsk({ ...question, sort: { ...sort, isDescending: !sort.isDescending } })}
      >
        <Icon name={sort.isDescending ? 'down' : 'up'} />
        <span class="visually-hidden">Greatest first</span>
      </button>
    </div>
  )
}
