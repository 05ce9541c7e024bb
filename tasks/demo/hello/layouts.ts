/** How the desk looks; every variant has one of its own, so that nothing can be found by where it once was. */
export interface Layout {
  /** `#rrggbb` each. */
  readonly bar: string;
  readonly page: string;
  readonly text: string;
  readonly field: string;
  readonly button: string;
  readonly paper: string;
  readonly ink: string;
  /** Pixels of one dot of the code, each way. */
  readonly dot: number;
  readonly direction: 'row' | 'row-reverse' | 'column-reverse';
  /** From the left and from the bar, in pixels. */
  readonly offset: readonly [number, number];
}

export interface Order {
  readonly variant: string;
  readonly orderNumber: string;
  readonly layout: Layout;
}

export const ORDERS: readonly Order[] = [
  {
    variant: 'base',
    orderNumber: 'QK-4417',
    layout: {
      bar: '#1f4e79',
      page: '#ffffff',
      text: '#202020',
      field: '#c55a11',
      button: '#2e7d32',
      paper: '#fff2cc',
      ink: '#3b0a45',
      dot: 8,
      direction: 'row',
      offset: [60, 60],
    },
  },
  {
    variant: 'dark',
    orderNumber: 'ZD-9032',
    layout: {
      bar: '#6a1b9a',
      page: '#1e1e1e',
      text: '#e0e0e0',
      field: '#00acc1',
      button: '#d81b60',
      paper: '#000a33',
      ink: '#ffd54f',
      dot: 5,
      direction: 'row-reverse',
      offset: [140, 110],
    },
  },
  {
    variant: 'stacked',
    orderNumber: 'MW-0768',
    layout: {
      bar: '#9a3412',
      page: '#e8f0f2',
      text: '#102a43',
      field: '#5b21b6',
      button: '#0f766e',
      paper: '#ffffff',
      ink: '#b91c1c',
      dot: 6,
      direction: 'column-reverse',
      offset: [220, 40],
    },
  },
];
