interface Session {
    readonly id: string;
    next: number;
    low: number;
    readonly done: Set<number>;
    used: number;
    dead: boolean;
}
/** The right to one write. */
export declare class Ticket {
    readonly session: Session;
    readonly seq: number;
    constructor(session: Session, seq: number);
    /** The value of the header Idempotency-Key. */
    get key(): string;
}
/** Numbers writes, from few sessions while few are under way. */
export declare class Sessions {
    private readonly open;
    private list;
    private opening;
    constructor(open: () => Promise<string>);
    /** Gives a number; it fails as opening a session does, or when the signal comes first. */
    take(signal: AbortSignal): Promise<Ticket>;
    private free;
    private more;
    /** Takes a number back: its write is answered or will never be repeated. */
    put(t: Ticket): void;
    /** Forgets a session that the cluster no longer knows. */
    drop(t: Ticket): void;
    /** The sessions without unanswered writes; they are given out no more. */
    idle(): string[];
}
/** What a promise gives, unless the signal comes first. */
export declare function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T>;
export {};
