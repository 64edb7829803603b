"""What a fusion of scores needs: by model the weights of evidence beside a cosine, by workspace the mean vector."""

from __future__ import annotations

from alembic import op

revision = "007"
down_revision = "006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        ALTER TABLE embedding_models
            ADD COLUMN evidence_weight double precision
                CONSTRAINT ck_embedding_models_evidence_weight CHECK (evidence_weight >= 0),
            ADD COLUMN identifier_weight double precision
                CONSTRAINT ck_embedding_models_identifier_weight CHECK (identifier_weight >= 0)
    """)
    op.execute("""
        CREATE TABLE workspace_means (
            workspace   text,
            model_id    smallint CONSTRAINT fk_workspace_means_model_id REFERENCES embedding_models (id),
            chunks      bigint NOT NULL,
            mean_vector vector NOT NULL,
            CONSTRAINT pk_workspace_means PRIMARY KEY (workspace, model_id)
        )
    """)


def downgrade() -> None:
    op.execute("DROP TABLE workspace_means")
    op.execute("ALTER TABLE embedding_models DROP COLUMN evidence_weight, DROP COLUMN identifier_weight")
