-- Índice para el listado de envíos de un comercio.
--
-- Atención: la primera versión de este archivo no llevaba CONCURRENTLY y bloqueó las escrituras durante 26 minutos
-- (INC-2041). No lo copies sin él.

SET lock_timeout = '3s';

CREATE INDEX CONCURRENTLY IF NOT EXISTS ix_envios_comercio_creado
    ON envios (comercio_id, creado_en DESC);

-- El listado filtra casi siempre por los envíos vivos: un índice parcial ocupa la décima parte.
CREATE INDEX CONCURRENTLY IF NOT EXISTS ix_envios_vivos
    ON envios (comercio_id)
    WHERE estado NOT IN ('entregado', 'devuelto', 'cancelado');

-- Comprobación: no debe quedar ninguno inválido.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE c.relname LIKE 'ix_envios_%' AND NOT i.indisvalid
    ) THEN
        RAISE EXCEPTION 'hay índices inválidos: bórralos y repite la migración';
    END IF;
END
$$;
